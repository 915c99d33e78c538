/** One part of `npm run assurance`: a command that takes too long for CI. */
export interface Part {
  readonly name: string
  /** The promise that the part tests, as a question for the table of results. */
  readonly question: string
  /** Duration on two idle cores, in minutes. */
  readonly minutes: number
  /** A program of node_modules/.bin, or `node`, with its arguments. */
  readonly command: readonly [program: string, ...args: readonly string[]]
}

const vitest = (project: string, ...args: readonly string[]): Part['command'] => [
  'vitest',
  'run',
  `--project=${project}`,
  ...args,
]
const node = (file: string, ...args: readonly string[]): Part['command'] => ['node', file, ...args]

const SIMULATE = 'audit/simulator/simulate.ts'
const SQLITE_SCHEDULES = 'audit/exploration/explore-sqlite-schedules.ts'

/** All parts, the shortest first, so that mistakes are found early. Each part runs with `WHOLE=1`. */
export const PARTS: readonly Part[] = [
  {
    name: 'known-failures',
    question: 'Which of the promises that do not hold yet hold now?',
    minutes: 3,
    command: vitest(
      'known-failures',
      '--passWithNoTests',
      '--reporter=default',
      '--reporter=./audit/assurance/known-failures.ts',
    ),
  },
  {
    name: 'core-fuzz',
    question: 'Does a random mix of operations, crashes and followers break the core?',
    minutes: 1,
    command: node('audit/core-fuzz/core-fuzz.ts'),
  },
  {
    name: 'index-difference',
    question: 'Does SQLite find what OpenSearch does not?',
    minutes: 2,
    command: node('audit/index-difference/index-difference.ts'),
  },
  {
    name: 'next-chat',
    question: 'Does the example with Next.js build, and do its buttons work in a browser?',
    minutes: 3,
    command: vitest('browser', 'test/browser/examples'),
  },
  {
    name: 'large-outputs',
    question: 'Does the index stay within its memory with outputs of 100 MB?',
    minutes: 5,
    command: ['vitest', 'run', 'test/history/bounded-memory.test.ts', 'large-output.times'],
  },
  {
    name: 'schedules',
    question: 'Does a schedule of 4,000 break the session protocol?',
    minutes: 6,
    command: node(SQLITE_SCHEDULES, '--schedules', '4000'),
  },
  {
    name: 'schedules-imports',
    question: 'Does a schedule of 1,500 with imports break the session protocol?',
    minutes: 4,
    command: node(SQLITE_SCHEDULES, '--imports', '--schedules', '1500'),
  },
  {
    name: 'schedules-deliveries',
    question: 'Does a schedule of 2,500 lose or double a delivery?',
    minutes: 8,
    command: node(SQLITE_SCHEDULES, '--deliveries', '--schedules', '2500'),
  },
  {
    name: 'sampled-suites',
    question: 'Do the suites that CI samples hold with all of their cases?',
    minutes: 8,
    command: [
      'vitest',
      'run',
      'test/adapters/sqlite/history/history-removals.property.test.ts',
      'test/agent/events/resuming.property.test.ts',
      'test/agent/loop/next-step.property.test.ts',
      'test/cli/import/import-killed.test.ts',
      'test/http/openai/responses/responses-attempts.property.test.ts',
      'test/http/run-steps',
      'test/http/v1/transfer/import-long-rounds.test.ts',
    ],
  },
  {
    name: 'schedules-dynamodb',
    question: 'Does a schedule of 200 break the session protocol on DynamoDB?',
    minutes: 10,
    command: node('audit/exploration/explore-dynamodb-schedules.ts', '--schedules', '200'),
  },
  {
    name: 'engines-long',
    question: 'Do the suites that CI samples hold with all of their cases on the engines?',
    minutes: 12,
    command: vitest(
      'engines',
      'test/adapters/dynamodb/contracts.engine.test.ts',
      'test/adapters/dynamodb/runs/resuming.engine.test.ts',
      'test/adapters/opensearch/search-quality.engine.test.ts',
      'test/cli/import/import-killed.engine.test.ts',
      'test/e2e/engines/facades.engine.test.ts',
      'test/history/index-equals-table.engine.test.ts',
    ),
  },
  {
    name: 'simulation',
    question: 'Does one of 2,000 seeds break a promise?',
    minutes: 13,
    command: node(SIMULATE, '--seeds', '2000', '--from', '1'),
  },
  {
    name: 'simulation-sqlite',
    question: 'Does one of 60 seeds break a promise where each process opens the file?',
    minutes: 5,
    command: node(SIMULATE, '--store', 'sqlite', '--seeds', '60'),
  },
  {
    name: 'simulation-dynamodb',
    question: 'Does one of 11 seeds break a promise where each request to DynamoDB is a step?',
    minutes: 15,
    command: node(SIMULATE, '--store', 'dynamodb', '--seeds', '11'),
  },
  {
    name: 'deploy-emulated',
    question: 'Can three environments be deployed, changed and deleted on an emulator of AWS?',
    minutes: 15,
    command: node('test/deployed/emulated/deploy-emulated.ts'),
  },
  {
    name: 'transcripts',
    question: 'Are all recorded conversations replayed and exported byte by byte?',
    minutes: 15,
    command: [
      'vitest',
      'run',
      'test/e2e/transcripts.test.ts',
      'test/e2e/round-trips.test.ts',
      'test/e2e/races.test.ts',
    ],
  },
  {
    name: 'transcripts-engines',
    question: 'Are they on DynamoDB, S3, SQS and OpenSearch, and are 200 racing inputs executed once?',
    minutes: 60,
    command: vitest(
      'engines',
      'test/e2e/engines/transcripts.engine.test.ts',
      'test/e2e/engines/round-trips.engine.test.ts',
      'test/e2e/engines/races.engine.test.ts',
    ),
  },
  {
    name: 'races-dynamodb',
    question: 'Does DynamoDB keep one log beside many writers, and a batch of 260 MB its memory?',
    minutes: 15,
    command: vitest('engines', 'test/adapters/dynamodb/races', 'test/runtime/lambda/indexer-memory.engine.test.ts'),
  },
  {
    name: 'crashes',
    question: 'Is anything lost or done twice after a kill around each durable step?',
    minutes: 60,
    command: vitest('crashes'),
  },
  {
    name: 'crashes-engines',
    question: 'Is anything lost or done twice after a kill on DynamoDB, S3, SQS and OpenSearch?',
    minutes: 240,
    command: vitest('engines', 'test/e2e/crashes'),
  },
  {
    name: 'soak',
    question: 'Does half an hour of load and kills lose anything?',
    minutes: 45,
    command: node('bench/soak.ts', '--minutes', '30', '--rate', '0.5'),
  },
  {
    name: 'guards',
    question: 'Is each guard of the protocol noticed by a schedule when it is taken out?',
    minutes: 60,
    command: node('audit/exploration/explore-guards.ts'),
  },
  {
    name: 'mutants',
    question: 'Does a suite notice each mutant?',
    minutes: 240,
    command: node('audit/mutants/check-mutants.ts'),
  },
]
