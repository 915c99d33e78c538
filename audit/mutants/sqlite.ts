import { inFile } from './mutant.ts'

const LOG = 'functions/adapters/sqlite/log'

/** Mutants of the session store on SQLite, in addition to the guards that `audit/exploration/guards.ts` removes. */
export const SQLITE_MUTANTS = [
  ...inFile('functions/adapters/sqlite/log/runs/claims.ts', [
    ['an idempotency key never ends', 'AND keyHash = ? AND until >= ?', 'AND keyHash = ? AND ? >= 0'],
    ['the same key takes another body', 'claim.bodyHash !== idempotency.bodyHash', 'claim.bodyHash === ""'],
  ]),
  ...inFile('functions/adapters/sqlite/log/runs/replacement-rows.ts', [
    ['a replacement of a summarised run is accepted', 'first <= through', 'false'],
    ['a replacement is accepted while a run is active', 'row.activeRun !== null || ', ''],
    [
      'a replacement counts messages that an earlier one has removed',
      'boundsOutside(before, {})',
      'boundsOutside([], {})',
    ],
  ]),
  ...inFile('functions/adapters/sqlite/log/runs/run-rows.ts', [
    ['every queued input steers', " AND body ->> 'onBusy' = 'steer' ORDER BY id", ' ORDER BY id'],
  ]),
  ...inFile('functions/adapters/sqlite/log/usage/usage-rows.ts', [
    ['tokens that nobody told of take away those known', ', ${name}, excluded.${name})', ')'],
    ['usage of a key is not counted', '  if (keyId === undefined) return\n', '  return\n'],
    ['budgets are not looked at', '  requireBudget(spent, budget, now)\n', ''],
  ]),
  ...inFile('functions/adapters/sqlite/log/sessions/session-changes.ts', [
    [
      'takeovers are not reset for the next run',
      '    head: message?.id ?? row.head,\n    takeovers: 0,\n',
      '    head: message?.id ?? row.head,\n',
    ],
    ['an earlier wake-up is overwritten', 'due: row.due ?? now })', 'due: now })'],
    ['a lease is never looked after', '  due: now + LEASE_MS,\n', ''],
    ['a lease lasts twice as long', 'leaseUntil: now + LEASE_MS,', 'leaseUntil: now + 2 * LEASE_MS,'],
    ['a start keeps an old cancel', '    takeovers: 0,\n    cancelRun: null,\n', '    takeovers: 0,\n'],
    ['a lease of another run is mine', ' && row.activeRun === lease.runId', ''],
    [
      'taking keeps the generation',
      '  leaseUntil: now + LEASE_MS,\n  generation: row.generation + 1,',
      '  leaseUntil: now + LEASE_MS,\n  generation: row.generation,',
    ],
    [
      'totals do not grow',
      'totals: encodeTotals({ ...counted, byAgent',
      'totals: encodeTotals({ ...totalsOf(row), byAgent',
    ],
    ['activity moves back', 'Math.max(row.updatedAt, now)', 'now'],
  ]),
  ...inFile('functions/adapters/sqlite/log/runs/run-endings.ts', [
    ['an end leaves the session paused', '    activeRun: null,\n    paused: 0,\n', '    activeRun: null,\n'],
    [
      'the order of the last message is not checked',
      'if (row.head !== null && message.id <= row.head)',
      'if (row.head === message.id && message.id < row.head)',
    ],
    [
      'a pause does not move the expiry',
      'withRun(alive({ ...released(row), paused: 1, due: null }, now), run)',
      'withRun({ ...released(row), paused: 1, due: null }, run)',
    ],
    [
      'an end of another holder is mine',
      ': isSameMessage(findMessage(database, row.number, end.message.id), end.message)',
      ': true',
    ],
    [
      'an end without message is always mine',
      '? row.generation === lease.generation + 1 && row.activeRun === null',
      '? row.activeRun === null',
    ],
    [
      'open calls stay open',
      'const closed = openCalls(database, stored.number).map',
      'const closed = openCalls(database, -1).map',
    ],
    ['an end keeps the count of waiting calls', '    waiting: 0,\n    head:', '    head:'],
    [
      'an end keeps the cancel',
      '    cancelRun: null,\n    cancelReason: null,\n    due: row.queued',
      '    due: row.queued',
    ],
    ['an end does not move the head', '    head: message?.id ?? row.head,\n    cancelRun', '    cancelRun'],
    [
      'a pause is not recorded',
      'pausedRun(stored.run, waiting, row.head ?? undefined, lease.generation)',
      "{ ...stored.run, status: 'paused' }",
    ],
    ['a pause stays due', 'paused: 1, due: null }', 'paused: 1 }'],
  ]),
  ...inFile('functions/adapters/sqlite/log/runs/run-inbox.ts', [
    ['an idempotency key is not kept', '    rememberClaim(database, row, newRun, run.id, now)\n', ''],
    ['a cancel never finds a free session', 'free: isFree(headerOf(row), now)', 'free: false'],
    ['a cancelled input stays counted', 'queued: row.queued - 1 }, run))', 'queued: row.queued }, run))'],
    [
      'an ended run is cancelled',
      "if (isEnded(stored.run.status)) return { state: 'ended' }",
      "if (stored.run.rounds < 0) return { state: 'ended' }",
    ],
    [
      'continue after a completed run',
      "statusAtEnd(database, row) !== runStatusCode('failed')",
      'statusAtEnd(database, row) === undefined',
    ],
    ['reject is ignored', "if (onBusy === 'reject' && busy && !gives)", "if (onBusy === 'reject' && busy && gives)"],
    ['reject in a pause is refused', ' && busy && !gives)', ' && busy)'],
    [
      'a start at once of a held session',
      'row.leaseOwner === null && row.activeRun === null',
      'row.activeRun === null',
    ],
    ['a queued input is not counted', 'queued: accepted.queued + 1 }', 'queued: accepted.queued }'],
  ]),
  ...inFile('functions/adapters/sqlite/log/runs/run-lease.ts', [
    [
      'a resumed pause counts as takeover',
      'const takeovers = header.lease === undefined ? row.takeovers : row.takeovers + 1',
      'const takeovers = row.takeovers + 1',
    ],
    [
      'a takeover is not counted',
      'const takeovers = header.lease === undefined ? row.takeovers : row.takeovers + 1',
      'const takeovers = row.takeovers',
    ],
    [
      'heartbeats do not move due',
      'const due = row.due === null || until - row.due >= DUE_STEP_MS ? until : row.due',
      'const due = row.due ?? until',
    ],
    [
      'a run that is taken up again is not told',
      'resumedRun(stored.run, row.head ?? undefined, row.generation + 1)',
      "{ ...stored.run, status: 'running' }",
    ],
    ['a taken run stays paused', 'paused: 0, takeovers }', 'takeovers }'],
    [
      'a claim also takes waiting and approved rows',
      'AND status = 0 AND generation < ?',
      'AND status < 3 AND generation < ?',
    ],
    ['a claim tells the head of the take', 'lease: { ...lease, head: row.head ?? undefined },', 'lease,'],
    [
      'an unknown start is not found again',
      'if (isOwnedSince(row, seen, owner)) return startedBefore(database, row, owner)\n',
      '',
    ],
    [
      'an unknown take is not found again',
      'if (isOwnedSince(row, seen, owner)) return leaseOf(row, owner, row.activeRun)\n',
      '',
    ],
    [
      'a started input stays counted',
      'saveSession(database, row, { ...next, queued: row.queued - 1 })',
      'saveSession(database, row, next)',
    ],
  ]),
  ...inFile('functions/adapters/sqlite/log/runs/run-log.ts', [
    ['the order of messages is not checked', '    requireGreater(message.id, head)\n', ''],
    [
      'a round does not reset takeovers',
      '{ ...session, head, waiting, takeovers: 0 }',
      '{ ...session, head, waiting }',
    ],
    [
      'repeated refused calls are a failure',
      '|| isSameMessage(findMessage(database, row.number, first.id), first)) return',
      ') return',
    ],
    ['refused calls do not move the head', 'saveSession(database, row, { ...session, head, takeovers: 0 })', ''],
    ['a steering input does not reset takeovers', 'head: messageId, takeovers: 0 }', 'head: messageId }'],
    [
      'a round with this id counts as stored whatever its calls',
      '    isSameMessage(found, assistant) &&\n    tools.every(({ id, toolCallId }) => findToolMessage(database, row.number, id)?.toolCallId === toolCallId)',
      '    true',
    ],
    ['a repeated round is stored again', '    if (isStored(database, row, round)) return\n', ''],
    ['waiting calls are not counted', 'row.waiting + round.tools.filter', 'row.waiting + 0 * round.tools.filter'],
    ['a repeated result is a lost lease', '    if (isSameMessage(call, closed)) return call\n', ''],
    [
      'a result is stored under any generation',
      'if (found?.call.generation !== lease.generation) throw',
      'if (found === undefined) throw',
    ],
    [
      'a repeated beginning is a lost lease',
      "    if (call?.status === 'running' && call.generation === lease.generation) return call\n",
      '',
    ],
    ['a begun call keeps its generation', "status: 'running', generation: lease.generation }", "status: 'running' }"],
    [
      'a repair reopens nothing and closes all',
      "if (call.status !== 'running') return call\n",
      "if (call.status === 'completed') return call\n",
    ],
    [
      'a repeated steering is refused',
      "    if (before?.role === 'user' && queued?.run.mergedInto === into.run.id) return before\n",
      '',
    ],
    ['a steered input stays counted', 'queued: row.queued - 1, head', 'queued: row.queued, head'],
  ]),
  ...inFile('functions/adapters/sqlite/log/runs/call-resolutions.ts', [
    [
      'resolutions do not count down',
      'const waiting = row.waiting - resolved.length\n',
      'const waiting = row.waiting - 0 * resolved.length\n',
    ],
    ['complete is never told', 'complete: !isActive || waiting === 0', 'complete: !isActive'],
    ['a repeated request replaces the tools', 'if (resolved.length > 0) saveRequest(', 'saveRequest('],
  ]),
  ...inFile('functions/domain/runs/call-resolution.ts', [
    [
      'a repeated resolution is refused',
      '    if (named.some(({ resolutionHash }) => resolutionHash === hash)) return undefined\n',
      '',
    ],
    [
      'any kind of resolution is taken',
      'if (call.needs !== needs) throw',
      'if (call.needs === undefined && needs === undefined) throw',
    ],
    ['a denial is a permission', 'if (approved) return', 'if (approved || resolution.hash !== "") return'],
    [
      'the earliest call of an id is meant',
      "findLast(({ status }) => status === 'waiting')",
      "find(({ status }) => status === 'waiting')",
    ],
  ]),
  ...inFile('functions/domain/runs/run-changes.ts', [
    [
      'a call that has begun is said not to have run',
      "  if (call.status === 'running' && !isDelegation(call)) return interruptedCall(call, now)\n",
      '',
    ],
    ['rounds are not counted', 'rounds: before.rounds + (isLeaders(message) ? 1 : 0),', 'rounds: before.rounds,'],
    ['usage is not summed', 'usage: addUsage(before.usage, usage),', 'usage,'],
  ]),
  ...inFile('functions/adapters/sqlite/log/sessions/session-janitor.ts', [
    ['due is cleared although a lease is held', 'row === undefined || row.leaseOwner !== null', 'row === undefined'],
    ['due is cleared under a queue', 'row.activeRun === null && row.queued === 0', 'row.activeRun === null'],
    ['what is postponed is not what was seen', 'AND session = ? AND due = ?', 'AND session = ? AND due <> -?'],
    ['sessions with work expire', 'expiresAt <= ? AND due IS NULL ORDER', 'expiresAt <= ? ORDER'],
    ['deleted sessions expire', 'WHERE live = 1 AND expiresAt IS NOT NULL AND', 'WHERE expiresAt IS NOT NULL AND'],
  ]),
  ...inFile('functions/adapters/sqlite/log/sessions/session-deletion.ts', [
    ['the second removal is due at once', 'due: now + LEASE_MS })', 'due: now })'],
    ['a session in use is deleted as expired', 'row.expiresAt > now || row.due !== null)', 'row.expiresAt > now)'],
    ['a deleted session keeps its queue', '      queued: 0,\n      cancelRun', '      cancelRun'],
    [
      'a tombstone is not due',
      '      due: now,\n      expiresAt: now + TOMBSTONE_MS,',
      '      expiresAt: now + TOMBSTONE_MS,',
    ],
    [
      'a deletion is never finished',
      'if (row !== undefined) saveSession(database, row, { ...row, due: null })',
      'if (row === null) saveSession(database, row, row)',
    ],
    ['outputs are not counted', 'outputs = outputs + ?, removed = 1', 'outputs = 0 * ?, removed = 1'],
    ['idempotency keys are left', "    write(database, 'DELETE FROM claims WHERE session = ?', row.number)\n", ''],
    ['a session that was made anew is removed', 'return row?.live === 0 ? row : undefined', 'return row'],
  ]),
  ...inFile('functions/adapters/sqlite/log/messages/log-reader.ts', [
    [
      'a page never tells that there is more',
      'return { messages: page.entries, more: true }',
      'return { messages: page.entries, more: false }',
    ],
    ['ids after include the one named', "['m.id > ?', [query.after]]", "['m.id >= ?', [query.after]]"],
  ]),
  ...inFile(`${LOG}/shared-commit.ts`, [
    ['what throws undoes nothing of its own', "    write(database, 'ROLLBACK TO part')\n", ''],
    [
      'a failed commit is told to nobody',
      '    for (const part of parts) part.reject(error)\n',
      '    for (const part of parts) part.resolve(error)\n',
    ],
  ]),
  ...inFile('functions/adapters/sqlite/database.ts', [
    ['commits are not synced', 'PRAGMA synchronous = FULL', 'PRAGMA synchronous = NORMAL'],
  ]),
  ...inFile('functions/domain/session.ts', [
    ['a lease ends a millisecond early', 'header.lease.until < now', 'header.lease.until <= now'],
    [
      'a run that is to be cancelled stays blocked',
      'header.paused && header.waiting > 0 && header.cancel === undefined',
      'header.paused && header.waiting > 0',
    ],
  ]),
  ...inFile('functions/domain/ids.ts', [
    ['ids go back with the clock', 'if (last !== undefined && last >= time) return incrementBase32(last)\n', ''],
  ]),
]
