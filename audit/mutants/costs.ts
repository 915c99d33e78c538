import { inFile } from './mutant.ts'

const DYNAMODB = 'functions/adapters/dynamodb'

/** Mutants that let a cost grow with the number of stored, queued or followed items. */
export const COST_MUTANTS = [
  ...inFile('functions/adapters/dynamodb/log/sessions/lists/session-list.ts', [
    [
      'sessions are read whose entry shows that they do not match',
      'if (mayMatch(entry, filter, leading)) batch',
      'batch',
    ],
    ['a page reads until it is full', 'batch.length >= MAX_ROWS\n', 'batch.length >= MAX_ROWS * MAX_ROWS\n'],
  ]),
  ...inFile('functions/adapters/dynamodb/log/sessions/lists/list-query.ts', [
    ["an owner's page reads the list of the tenant", 'if (owner !== undefined) return', 'if (owner === null) return'],
  ]),
  ...inFile(`${DYNAMODB}/log/sessions/lists/list-groups.ts`, [
    ["a tenant's list is one partition", '  tenant: 4,', '  tenant: 1,'],
  ]),
  ...inFile(`${DYNAMODB}/keys.ts`, [
    ["a tenant's due sessions are one partition", 'const SHARDS_OF_A_TENANT = 4', 'const SHARDS_OF_A_TENANT = 1'],
    ["a tenant's due sessions fill all partitions", 'const SHARDS_OF_A_TENANT = 4', 'const SHARDS_OF_A_TENANT = 16'],
  ]),
  ...inFile('functions/adapters/dynamodb/log/messages/log-reader.ts', [
    ['the whole queue is read', 'if (runs.length >= limit) break', 'if (runs.length < 0) break'],
    [
      'what steers is looked for in the whole queue',
      "startsWith('sk', STEERING_PREFIX))\n",
      "startsWith('sk', '#'))\n",
    ],
  ]),
  ...inFile('functions/agent/events/header-polling.ts', [
    [
      'a consumer that waits for an end polls five times a second',
      'const ENDS_POLL_MS = 950',
      'const ENDS_POLL_MS = 200',
    ],
    ['each consumer polls for itself', '  if (known !== undefined) {\n', '  if (known?.latest === null) {\n'],
  ]),
  ...inFile('functions/agent/events/coalescing-reader.ts', [
    ['each consumer reads for itself', 'if (one === undefined || one.begun <= since) {', 'if (one?.begun !== -1) {'],
  ]),
  ...inFile('functions/adapters/sqlite/log/sessions/session-list.ts', [
    ['a page looks until it is full', ' || compared === MAX_COMPARED_SESSIONS', ''],
  ]),
  ...inFile('functions/adapters/sqlite/log/sessions/session-deletion.ts', [
    ['a step of a deletion has no bound', 'const DOCUMENTS_AT_ONCE = 16', 'const DOCUMENTS_AT_ONCE = 100_000'],
  ]),
]
