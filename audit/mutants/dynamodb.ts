import { inFile } from './mutant.ts'

/** Mutants of the session store on DynamoDB. They change conditions, tokens and strong reads. */
export const DYNAMODB_MUTANTS = [
  ...inFile('functions/adapters/dynamodb/log/runs/run-item.ts', [
    ['concurrent requests overwrite each other', "all(present('pk'), absent('request_rev'))", "present('pk')"],
    [
      'a run that leaves the queue goes on steering',
      "onBusy === 'steer' ? [{ remove:",
      'onBusy === undefined ? [{ remove:',
    ],
  ]),
  ...inFile('functions/adapters/dynamodb/log/messages/import-writes.ts', [
    ['numbers of sources do not come with an import', '    ...putNumbers(seen, message),\n', ''],
  ]),
  ...inFile('functions/adapters/dynamodb/table.ts', [
    ['reads by key are not consistent', "ConsistentRead: how === 'read'", 'ConsistentRead: false'],
    ['queries are not consistent', '{ ConsistentRead: true }', '{ ConsistentRead: false }'],
    [
      'each attempt has a token of its own',
      'new TransactWriteItemsCommand(input)',
      'new TransactWriteItemsCommand({ ...input, ClientRequestToken: crypto.randomUUID() })',
    ],
  ]),
  ...inFile('functions/adapters/dynamodb/retry.ts', [
    ['no retry', 'const ATTEMPTS = 9', 'const ATTEMPTS = 1'],
    ['conflicts are not tried again', "'TransactionConflict', ", ''],
    [
      'silence is not tried again',
      "return error instanceof Error && error.name !== 'CredentialsProviderError'",
      'return false',
    ],
    [
      'a refusal is tried again',
      'if (error instanceof ConditionalCheckFailedException) return [{ item: error.Item }]\n',
      '',
    ],
  ]),
  ...inFile('functions/adapters/dynamodb/log/runs/run-endings.ts', [
    ['an end asks for no generation', 'const conditions = [mine(lease), queue,', 'const conditions = [live, queue,'],
    [
      'an end asks for no queue',
      'const conditions = [mine(lease), queue, headIs',
      'const conditions = [mine(lease), headIs',
    ],
    ['an end asks for no head', "queue, headIs(textAt(header, 'head'))]", 'queue]'],
    ['an end asks for no cancel', "  if (outcome !== 'cancelled') conditions.push(notCancelled)\n", ''],
    ['an end with a queue is not due', '...(queued ? { due: now } : {}),', ''],
    ['an end without a queue stays due', "...(queued ? [] : ['due']),", ''],
    [
      'a pause asks for no cancel',
      "all(mine(lease), above('waiting', 0), notCancelled, ",
      "all(mine(lease), above('waiting', 0), ",
    ],
    [
      'a pause asks for nothing that waits',
      "all(mine(lease), above('waiting', 0), notCancelled, ",
      'all(mine(lease), notCancelled, ',
    ],
    [
      'a pause does not move the expiry',
      "change: { set: { status: 'paused', ...notices } },\n    },\n    ...renewExpiry(lease, header, clock.now()),",
      "change: { set: { status: 'paused', ...notices } },\n    },",
    ],
    [
      'many open calls are closed for anybody',
      '{ update: headerKey(lease), when: mine(lease), change }',
      '{ update: headerKey(lease), when: live, change }',
    ],
    [
      'an end before is not found again',
      'if (!isHeld(found, lease)) return endedBefore(rows, lease, end, { header: found, run })',
      'if (!isHeld(found, lease)) throw new LeaseLost(lease.session, lease.generation)',
    ],
    ['the end of another generation is mine', "&& numberAt(run, 'ended_gen') === lease.generation", ''],
  ]),
  ...inFile('functions/adapters/dynamodb/log/runs/run-log.ts', [
    ['a round asks for no head', 'when: all(mine(lease), headBelow(assistant.id)),', 'when: mine(lease),'],
    ['a round does not reset takeovers', '          takeovers: 0,\n', ''],
    ['refused calls ask for no holder', 'when: all(mine(lease), headBelow(first.id)),', 'when: headBelow(first.id),'],
    ['refused calls ask for no head', 'when: all(mine(lease), headBelow(first.id)),', 'when: mine(lease),'],
    [
      'a repeated round is a failure',
      'const same = item !== undefined && isSame(',
      'const same = item === null && isSame(',
    ],
    ['a repeated result is a lost lease', 'if (isMine && Object.entries', 'if (!isMine && Object.entries'],
    ['any result of a row is mine', "numberAt(item, 'gen') === lease.generation\n", 'true\n'],
    [
      'an approved call is begun by anybody',
      '    { check: headerKey(lease), when: mine(lease) },\n    {\n      update: messageKey(lease, messageId),',
      '    {\n      update: messageKey(lease, messageId),',
    ],
    ['a repair is done by anybody', '[{ check: headerKey(lease), when: mine(lease) }, ...actions]', '[...actions]'],
    [
      'a steering asks for nothing queued',
      'update: runKey(lease, queuedRunId),\n      when: isQueued,',
      "update: runKey(lease, queuedRunId),\n      when: present('pk'),",
    ],
  ]),
  ...inFile('functions/adapters/dynamodb/log/sessions/header-item.ts', [
    ['giving a lease back keeps the generation', '  set: { gen: lease.generation + 1 },\n', ''],
  ]),
  ...inFile('functions/adapters/dynamodb/log/runs/run-lease.ts', [
    ['heartbeats never move due', '...(movesDue ? { due: until } : {})', ''],
    ['heartbeats move the end back', "all(mine(lease), below('lease_until', until))", 'mine(lease)'],
    [
      'a claim is not followed by a read',
      'return result(header, await openCalls(rows, lease, header))',
      'return result(header, seen)',
    ],
    [
      'a claim takes rows of later holders',
      "all(is('status', 'running'), below('gen', lease.generation))",
      "is('status', 'running')",
    ],
    [
      'a start asks for no generation',
      // Every start changes the session's list entries, and `started.when` is the condition on them. This condition
      // would hide most effects of the mutant, so the mutant removes it too.
      "when: all(live, is('gen', seen.generation), freeAt(now), absent('active_run'), ...started.when),",
      "when: all(live, freeAt(now), absent('active_run')),",
    ],
    [
      'a take asks for no generation',
      "...[live, is('gen', seen.generation), is('active_run', activeRun), freeAt(now), isNotBlocked],",
      "...[live, is('active_run', activeRun), freeAt(now), isNotBlocked],",
    ],
    [
      'a take writes over what was decided',
      "any(is('status', 'running'), is('status', 'paused')), decidedAs(item))",
      "any(is('status', 'running'), is('status', 'paused')))",
    ],
    ['a take is not told', "{ status: 'running', ...text }", "{ status: 'running' }"],
    ['a takeover is not counted', 'seen.lease === undefined ? {} : { add: { takeovers: 1 } }', '{}'],
    ['a hand-over is not due', '{ set: { due: clock.now() } }', '{}'],
  ]),
  ...inFile('functions/adapters/dynamodb/log/runs/run-inbox.ts', [
    ['an input asks for no order', '[live, tailBelow(run.id), blocked', '[live, blocked'],
    [
      'an input into a busy session asks no more whether it is',
      'isBusy(header) ? stillBusy : ',
      'isBusy(header) ? live : ',
    ],
    ['an input wakes nobody', '        woken(now),\n        superseded,\n', '        superseded,\n'],
    ['a start at once asks for no queue', "absent('active_run'), is('queued', 0)],\n", "absent('active_run')],\n"],
    [
      'a start at once asks for no generation',
      "live, is('gen', generation), tailBelow(run.id)",
      'live, tailBelow(run.id)',
    ],
  ]),
  ...inFile('functions/adapters/dynamodb/log/runs/claims.ts', [
    ['a claim of a key replaces another', "when: any(absent('pk'), below('until', now)) }]", '}]'],
  ]),
  ...inFile('functions/adapters/dynamodb/log/runs/replacement-items.ts', [
    [
      'a replacement ignores a summary that was made meanwhile',
      '{ check: contextKey(key), when: isSummarisedAsRead },',
      '',
    ],
    ['a replacement counts messages that an earlier one has removed', 'supersededRanges(before), {})', '[], {})'],
  ]),
  ...inFile('functions/adapters/dynamodb/log/runs/run-cancel.ts', [
    [
      'a cancel wakes nobody',
      "together(woken(now), { set: { cancel_run: id, cancel_reason: 'user' } })",
      "{ set: { cancel_run: id, cancel_reason: 'user' } }",
    ],
    ['a cancel asks for no active run', "all(live, is('active_run', id)), flagged", 'live, flagged'],
  ]),
  ...inFile('functions/adapters/dynamodb/log/runs/call-resolutions.ts', [
    ['the last resolution wakes nobody', 'change: waiting === 0 ? together(change, woken(now)) : change,', 'change,'],
    [
      'resolutions ask for no cancel',
      "all(live, is('active_run', runIdOf(run)), notCancelled, isLast)",
      "all(live, is('active_run', runIdOf(run)), isLast)",
    ],
    ['resolutions do not ask which is the last', 'notCancelled, isLast)', 'notCancelled)'],
    ['a closed call is resolved again', "      when: is('status', 'waiting'),\n", "      when: present('pk'),\n"],
  ]),
  ...inFile('functions/adapters/dynamodb/log/sessions/deletion/deletion-writes.ts', [
    ['a deletion asks for no generation', "all(live, below('gen', gen), ", 'all(live, '],
    ['an expiry does not ask for due', "[absent('due'), ...unchangedCopy]", 'unchangedCopy'],
    [
      'an expiry does not ask whether it was renewed',
      "...(ifExpired ? [{ check: expiryKey(key), when: any(absent('pk'), below('due', now + 1)) }] : []),",
      '',
    ],
  ]),
  ...inFile('functions/adapters/dynamodb/log/sessions/deletion/session-janitor.ts', [
    [
      'due is cleared under a lease',
      "all(live, absent('lease_owner'), any(idle, blocked))",
      'all(live, any(idle, blocked))',
    ],
    ['due is cleared under a queue', "all(absent('active_run'), is('queued', 0))", "absent('active_run')"],
    ['what is postponed is not what was seen', "all(present('pk'), is('due', due))", "present('pk')"],
  ]),
]
