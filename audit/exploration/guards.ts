/** One change of a source text. The file must contain `from` exactly once. */
export interface Edit {
  readonly file: string
  readonly from: string
  readonly to: string
}

/** A condition of the session protocol, and the changes that remove it from the SQLite adapter. */
export interface Guard {
  readonly name: string
  readonly edits: readonly Edit[]
  /**
   * The name of another guard of this engine that makes an equal check. If set, no schedule can detect that this guard
   * is missing.
   */
  readonly backedBy?: string
}

const one = (name: string, file: string, from: string, to: string): Guard => ({ name, edits: [{ file, from, to }] })

const HELD = 'const row = heldSession(database, lease)\n'
/** Source text that reads a live session without checking its holder. */
const ANYBODY = 'const row = findLiveSession(database, lease) ?? heldSession(database, lease)\n'
/** Builds the guard of an operation's generation check. `next` is the source text that follows the check. */
const unfenced = (operation: string, file: string, next: string): Guard =>
  one(`${operation}: the generation is mine`, file, `${HELD}    ${next}`, `${ANYBODY}    ${next}`)

const START_AS_SEEN: Edit = {
  file: 'runs/run-lease.ts',
  from: 'row.generation !== seen.generation || row.activeRun',
  to: 'row.activeRun',
}
const START_WHEN_IDLE: Edit = { file: 'runs/run-lease.ts', from: 'row.activeRun !== null || !isFree', to: '!isFree' }
const TAKE_AS_SEEN: Edit = {
  file: 'runs/run-lease.ts',
  from: '    if (row.generation !== seen.generation) return undefined\n',
  to: '',
}
const TAKE_UNBLOCKED: Edit = {
  file: 'runs/run-lease.ts',
  from: '!isFree(header, now) || isBlocked(header)',
  to: '!isFree(header, now)',
}
const ROW_IS_OLDER: Edit = {
  file: 'runs/run-lease.ts',
  from: 'AND status = 0 AND generation < ?',
  to: 'AND status = 0 AND ? >= 0',
}
const CLAIM_IS_MINE: Edit = {
  file: 'runs/run-lease.ts',
  from: `${HELD}    const stored = findRun(database, row.number, lease.runId)`,
  to: `${ANYBODY}    const stored = findRun(database, row.number, lease.runId)`,
}
const TOMBSTONE_BUMPS: Edit = {
  file: 'sessions/session-deletion.ts',
  from: '      live: 0,\n      generation: row.generation + 1,',
  to: '      live: 0,\n      generation: row.generation,',
}
const TOMBSTONE_CLEARS: Edit = { file: 'sessions/session-deletion.ts', from: '      activeRun: null,\n', to: '' }
const HOLDER_IS_LIVE: Edit = {
  file: 'sessions/session-changes.ts',
  from: 'row?.live === 1 && row.generation === lease.generation && ',
  to: 'row !== undefined && row.generation === lease.generation && ',
}

/** All guards of the protocol, by operation. */
export const GUARDS: readonly Guard[] = [
  one(
    'enqueue: the run id is greater than the last accepted',
    'runs/run-inbox.ts',
    'nextRunId(row.tail ?? undefined, row.head ?? undefined, now)',
    'nextRunId(undefined, undefined, now)',
  ),
  one(
    'enqueue: sets due',
    'runs/run-inbox.ts',
    'woken({ ...accepted, queued: accepted.queued + 1 }, now)',
    '{ ...accepted, queued: accepted.queued + 1 }',
  ),
  one(
    'enqueue: supersedes a run that waits',
    'runs/run-inbox.ts',
    'isBlocked(headerOf(before))\n',
    'before.number < 0\n',
  ),
  one(
    'enqueue: an idempotency key counts once',
    'runs/run-inbox.ts',
    'if (known !== undefined) return',
    'if (known === "") return',
  ),
  one(
    'enqueue: the session is live',
    'sessions/session-rows.ts',
    'const row = findLiveSession(database, key)\n  if',
    'const row = findSession(database, key)\n  if',
  ),
  one(
    'enqueue and start: nothing is queued',
    'runs/run-inbox.ts',
    ' && row.queued === 0\n\nfunction startAtOnce',
    '\n\nfunction startAtOnce',
  ),
  one(
    'enqueue and start: no run is active',
    'runs/run-inbox.ts',
    'row.leaseOwner === null && row.activeRun === null && row.queued === 0\n',
    'row.leaseOwner === null && row.queued === 0\n',
  ),
  { name: 'start: the header is the one seen', edits: [START_AS_SEEN] },
  { name: 'start: no run is active', edits: [START_WHEN_IDLE], backedBy: 'start: the header is the one seen' },
  {
    name: 'start: both',
    edits: [{ ...START_AS_SEEN, from: `${START_AS_SEEN.from} !== null || !isFree`, to: '!isFree' }],
  },
  one(
    'start: the lowest queued run',
    'runs/run-rows.ts',
    'r.status = 0 ORDER BY r.id LIMIT',
    'r.status = 0 ORDER BY r.id DESC LIMIT',
  ),
  one(
    'start: the message id is greater than the head',
    'sessions/session-changes.ts',
    'nextId(row.head ?? undefined, now)',
    'nextId(undefined, now)',
  ),
  { name: 'take: the header is the one seen', edits: [TAKE_AS_SEEN] },
  one(
    'take: the session is free',
    'runs/run-lease.ts',
    '!isFree(header, now) || isBlocked(header)',
    'isBlocked(header)',
  ),
  { name: 'take: the run is not blocked', edits: [TAKE_UNBLOCKED], backedBy: 'take: the header is the one seen' },
  { name: 'take: both', edits: [TAKE_AS_SEEN, TAKE_UNBLOCKED] },
  {
    name: 'claim: the row is of an older generation',
    edits: [ROW_IS_OLDER],
    backedBy: 'claim: the generation is mine',
  },
  {
    name: 'claim: the generation is mine',
    edits: [CLAIM_IS_MINE],
    backedBy: 'claim: the row is of an older generation',
  },
  { name: 'claim: both', edits: [ROW_IS_OLDER, CLAIM_IS_MINE] },
  unfenced('repair', 'runs/run-log.ts', 'const calls = messageIds.map'),
  {
    name: 'repair: the row is of my generation',
    edits: [
      {
        file: 'runs/run-log.ts',
        from: "call.status === 'running' && call.generation !== lease.generation",
        to: 'call.round < 0',
      },
    ],
    backedBy: 'repair: the generation is mine',
  },
  unfenced('append', 'runs/run-log.ts', 'if (isStored('),
  one('append: once', 'runs/run-log.ts', '    if (isStored(database, row, round)) return\n', ''),
  one(
    "append: a member's rounds are its own",
    '../../../domain/runs/run-changes.ts',
    'before.rounds + (isLeaders(message) ? 1 : 0)',
    'before.rounds + 1',
  ),
  unfenced('task', 'runs/run-log.ts', 'const [first] = messages'),
  one(
    'task: once',
    'runs/run-log.ts',
    'if (first === undefined || isSameMessage(findMessage(database, row.number, first.id), first)) return',
    'if (first === undefined) return',
  ),
  one(
    'complete: the row is of my generation',
    'runs/run-log.ts',
    'found?.call.generation !== lease.generation',
    'found === undefined',
  ),
  one(
    'complete: the call is running',
    'runs/run-log.ts',
    "if (call.status === 'running') {\n      updateToolMessage",
    "if (call.status !== 'waiting') {\n      updateToolMessage",
  ),
  one(
    'resolve: the call is waiting',
    '../../../domain/runs/call-resolution.ts',
    "if (call.status !== 'waiting') {",
    "if (call.status === 'completed') {",
  ),
  one(
    'resolve: the call is the one that is named, of several with its id',
    '../../../domain/runs/call-resolution.ts',
    ' && (resolution.messageId ?? id) === id)',
    ')',
  ),
  one(
    'resolve: no cancel',
    'runs/call-resolutions.ts',
    'isOpen: isActive && row.cancelRun === null',
    'isOpen: isActive',
  ),
  one('resolve: the last one sets due', 'runs/call-resolutions.ts', 'woken(next, now) : next', 'next : next'),
  one(
    'resolve: an approval is `approved`',
    '../../../domain/runs/call-resolution.ts',
    "status: 'approved' }",
    "status: 'running' }",
  ),
  unfenced('begin', 'runs/run-log.ts', 'const call = findToolMessage(database, row.number, messageId)'),
  one(
    'begin: the call is approved',
    'runs/run-log.ts',
    "if (call?.status !== 'approved') throw",
    'if (call === undefined) throw',
  ),
  one('pause: a call waits', 'runs/run-endings.ts', 'row.waiting === 0 || ', ''),
  one('pause: no cancel', 'runs/run-endings.ts', ' || row.cancelRun !== null) return undefined', ') return undefined'),
  unfenced('pause', 'runs/run-endings.ts', 'if (row.waiting === 0'),
  unfenced('steer', 'runs/run-log.ts', 'const into = runOfLease'),
  one(
    'steer: the input is queued',
    'runs/run-log.ts',
    "if (queued?.run.status !== 'queued') return",
    'if (queued === undefined) return',
  ),
  one(
    'end: the generation is mine',
    'runs/run-endings.ts',
    'if (!isHeld(row, lease)) return',
    'if (row === undefined) return',
  ),
  one(
    'end: no cancel',
    'runs/run-endings.ts',
    "row.cancelRun !== null && end.outcome !== 'cancelled'",
    'row.number < 0',
  ),
  one('end: stays due when inputs are queued', 'runs/run-endings.ts', 'due: row.queued > 0 ? now : null', 'due: null'),
  one('end: not due when none is', 'runs/run-endings.ts', 'due: row.queued > 0 ? now : null', 'due: now'),
  one(
    'end: a delegate call is not interrupted',
    '../../../domain/runs/run-changes.ts',
    "call.status === 'running' && !isDelegation(call)",
    "call.status === 'running'",
  ),
  one(
    'release: the generation grows',
    'sessions/session-changes.ts',
    'leaseUntil: null,\n  generation: row.generation + 1,',
    'leaseUntil: null,',
  ),
  unfenced('heartbeat', 'runs/run-lease.ts', 'if (row.leaseUntil !== null'),
  one(
    'heartbeat: the end moves on only',
    'runs/run-lease.ts',
    '    if (row.leaseUntil !== null && row.leaseUntil >= until) return\n',
    '',
  ),
  unfenced('hand off', 'runs/run-lease.ts', 'saveSession(database, row, { ...released(row), due: clock.now() })'),
  one(
    'hand off: sets due',
    'runs/run-lease.ts',
    '{ ...released(row), due: clock.now() }',
    '{ ...released(row), due: null }',
  ),
  one(
    'cancel: sets due',
    'runs/run-inbox.ts',
    "woken({ ...row, cancelRun: stored.run.id, cancelReason: 'user' }, now)",
    "{ ...row, cancelRun: stored.run.id, cancelReason: 'user' }",
  ),
  one(
    'sweeper: due is what was seen',
    'sessions/session-janitor.ts',
    ' AND session = ? AND due = ?',
    ' AND session = ? AND ? >= 0',
  ),
  one(
    'sweeper: no work',
    'sessions/session-janitor.ts',
    '    if (!idle && !isBlocked(headerOf(row))) return false\n',
    '',
  ),
  { name: "delete: the holder's session is live", edits: [HOLDER_IS_LIVE], backedBy: 'delete: the generation grows' },
  { name: 'delete: the generation grows', edits: [TOMBSTONE_BUMPS], backedBy: "delete: the holder's session is live" },
  { name: 'delete: all of its fence', edits: [HOLDER_IS_LIVE, TOMBSTONE_BUMPS, TOMBSTONE_CLEARS] },
  one(
    'expire: not due',
    'sessions/session-deletion.ts',
    ' || row.expiresAt > now || row.due !== null)',
    ' || row.expiresAt > now)',
  ),
]
