import { isDeepStrictEqual } from 'node:util'
import type { RunEvent } from '../../../functions/domain/events.ts'
import { OPEN_STATUSES, textOf } from '../../../functions/domain/messages/message.ts'
import type { ToolMessage } from '../../../functions/domain/messages/message.ts'
import type { Run } from '../../../functions/domain/runs/run.ts'
import { isBlocked, isFree } from '../../../functions/domain/session.ts'
import type { SessionHeader, SessionKey } from '../../../functions/domain/session.ts'
import type { CountedCompletion } from '../../../functions/domain/usage/usage-count.ts'
import { checkStep } from '../../../test/contracts/schedules/invariants.ts'
import { snapshot } from '../../../test/contracts/snapshot.ts'
import type { Snapshot } from '../../../test/contracts/snapshot.ts'
import type { SessionPorts } from '../../../test/contracts/stores.ts'
import { EXPIRY_MS, leaveSession } from '../left.ts'
import { sessionIn } from '../world/network.ts'
import type { Fault } from '../scripts/script.ts'
import type { Outcome } from '../world/network.ts'
import type { WaitingCall } from '../program.ts'
import type { Process } from '../world/timeline.ts'
import type { SharedStore } from '../world/stores.ts'
import { isDelegation } from '../../../functions/domain/runs/team.ts'
import { rowToken } from './tools.ts'
import { processNow } from '../world/virtual-globals.ts'
import { must } from '../harness.ts'
import type { Harness } from '../harness.ts'

/** A client that follows a run, disconnects after any event, and resumes at another server. */
export interface Follower {
  readonly runId: string
  /** Ids of the received events, each once. */
  readonly ids: string[]
  hasEnded: boolean
}

/** The latest snapshot of one session, and facts that the simulator records from requests, replies and events. */
export interface Watch {
  readonly key: SessionKey
  seen: Snapshot
  /** Acknowledged runs in order, with their input if they have one. */
  readonly accepted: { readonly runId: string; readonly input: string | undefined }[]
  /** Runs whose cancel was acknowledged before they ended, with the time of the acknowledgement. */
  readonly cancelled: Map<string, number>
  /** Decisions of a person. Each has the token of the call that the person saw when deciding. */
  readonly decided: { readonly token: string; readonly allow: boolean; acknowledged: boolean }[]
  /** Imports from other logs, in order. */
  readonly imported: { readonly names: readonly string[]; acknowledged: boolean }[]
  /** The id of the last message that is covered by the latest acknowledged manual summary. */
  summarised: string
  /** Copies of the log. Each entry has the names of the copied inputs, and the results of the copied imported calls. */
  readonly forks: {
    readonly name: string
    readonly said: readonly string[]
    readonly read: readonly string[]
    acknowledged: boolean
  }[]
  readonly followers: Follower[]
  /** Ids of the events that holders emitted, by run, each once and in the order of their first emission. */
  readonly live: Map<string, Set<string>>
  /** Ratings that a server has acknowledged. */
  readonly rated: { readonly id: string; readonly user: string }[]
  /** The longest request that was sent since the last summary, without the results of its last round. */
  sent: { readonly through: string | undefined; readonly messages: readonly string[] }
  /** The highest generation whose holder has read the log. */
  readGeneration: number
  /** Number of times that the active run was taken over from dead holders since its last message. */
  takeovers: number
  deleted: boolean
  /** Whether a client has requested the deletion of the session. */
  unwanted: boolean
  /** Whether the session expires, that is, is deleted after a time without activity. */
  readonly expires: boolean
  /** Time of the last activity (start, pause or end of a run, or an import), in milliseconds since 1970. */
  activeAt: number
  /** Completions that could not be stored in the log, and were reported to the ledger. */
  readonly unstored: Set<CountedCompletion>
  /** Time at which the session first had work but no holder, in milliseconds since the beginning. */
  waitsSince: number | undefined
}

/** The sessions of a simulation. After every write, each changed session is read and checked. */
export interface Sessions {
  readonly all: readonly Watch[]
  /** Reads a session that a request may have changed, and checks that the change is allowed. */
  observe(sender: Process, call: string, args: readonly unknown[], outcome: Outcome): Promise<void>
  /** Records an event that a program has emitted. Checks that everything in the event is already stored. */
  noteEvent(key: SessionKey, event: RunEvent): void
  checkEvents(): Promise<void>
  /** Returns the waiting calls as a person sees them. */
  waiting(watch: Watch): readonly { readonly runId: string; readonly call: WaitingCall }[]
}

const READS = [
  'readHeader',
  'readHeaderEventually',
  'read',
  'list',
  'messages',
  'message',
  'run',
  'runs',
  'queued',
  'activeRuns',
  'due',
  'expired',
]
const SUMMARY = 'sessions.recordSummary'
/** Maximum difference between the clocks of processes. */
export const CLOCKS_MS = 60_000
/** Number of takeovers without a new message after which a run is given up. */
const MAX_TAKEOVERS = 3
/** Faults that can stop a holder. Each occurs once. */
const STROKES: readonly Fault['type'][] = ['request', 'between', 'outage', 'kill', 'stop', 'strike', 'restart', 'clock']
/** Names that the checks of the exploration use for some calls of ports. */
const ACTS: { readonly [call: string]: string } = {
  'lease.start': 'start',
  'lease.take': 'take',
  'lease.claim': 'claim',
  'log.completeCall': 'complete',
}

export async function watchSessions(harness: Harness, store: SharedStore, ports: SessionPorts): Promise<Sessions> {
  const all: Watch[] = []
  for (const one of harness.script.sessions) {
    const found = await leaveSession(store, one, Math.floor(harness.timeline.now()))
    const deleted = one.left === 'deleted'
    all.push({
      key: { tenant: one.tenant, session: one.session },
      seen: await snapshot(ports, one),
      ...found,
      cancelled: new Map(),
      decided: [],
      imported: [],
      summarised: '',
      forks: [],
      followers: [],
      live: new Map(),
      rated: [],
      sent: { through: undefined, messages: [] },
      readGeneration: 0,
      takeovers: 0,
      deleted,
      unwanted: deleted,
      expires: one.expires === true && store.expires,
      unstored: new Set(),
      waitsSince: undefined,
    })
  }
  const byName = new Map(all.map((watch) => [watch.key.session, watch]))
  const strokes = harness.script.faults.filter(({ type }) => STROKES.includes(type)).length
  let events: { readonly watch: Watch; readonly event: RunEvent }[] = []
  return {
    all,
    async observe(sender, call, args, outcome) {
      const watch = byName.get(sessionIn(args))
      const method = call.slice(call.indexOf('.') + 1)
      if (watch === undefined || READS.includes(method) || call.startsWith('outbox.')) return
      noteRead(watch, call, outcome)
      if (call === 'usage.count' && 'value' in outcome) watch.unstored.add(args[1] as CountedCompletion)
      const before = watch.seen
      watch.seen = await snapshot(ports, watch.key)
      const ghosts = {
        cancelled: new Set(watch.cancelled.keys()),
        starts: new Map<string, number>(),
        readGeneration: watch.readGeneration,
        disturbed: harness.script.faults.length > 0,
        disowned: harness.script.faults.some((fault) => fault.type === 'between' && fault.how === 'disowned'),
      }
      if (call === 'inbox.resolve') checkResolved(watch, before)
      if (call === SUMMARY) checkSummarised(watch, before, args)
      noteTakeover(watch, before, call, strokes)
      noteLeaving(watch, before, call)
      noteActivity(watch, before, call, harness.timeline.now())
      const clock = { now: () => processNow(sender) }
      checkStep({ stores: { clock }, ghosts }, before, watch.seen, actOf(call, args))
    },
    noteEvent(key, event) {
      const watch = byName.get(key.session)
      if (watch === undefined || !('id' in event)) return
      events.push({ watch, event })
      const live = watch.live.get(event.runId) ?? new Set()
      watch.live.set(event.runId, live.add(event.id))
    },
    async checkEvents() {
      if (events.length === 0) return
      const noted = events
      events = []
      for (const { watch, event } of noted) checkEvent(watch, event)
    },
    waiting: ({ seen }) =>
      seen.messages.flatMap((row) =>
        row.role === 'tool' && row.status === 'waiting' && row.needs !== undefined
          ? [{ runId: row.runId, call: { ...row, messageId: row.id, needs: row.needs, token: rowToken(seen, row) } }]
          : [],
      ),
  }
}

/** Checks that a manual summary is stored only if the session has not changed since its sender read it. */
function checkSummarised({ seen, key }: Watch, before: Snapshot, [header]: readonly unknown[]): void {
  const { generation } = header as SessionHeader
  const isSame = isDeepStrictEqual(seen.session?.summary, before.session?.summary)
  must('a summary is of the session that was seen', isSame || generation === before.header?.generation, key.session)
}

function actOf(call: string, [first, second]: readonly unknown[]) {
  const isExpiry = call === 'deletion.tombstone' && second !== undefined
  const name = isExpiry ? 'expire' : (ACTS[call] ?? call)
  if (call === SUMMARY) return { name: call }
  const lease = typeof first === 'object' && first !== null && 'generation' in first ? first : undefined
  return typeof lease?.generation === 'number' ? { name, generation: lease.generation } : { name }
}

/** Records that a new holder has read the log, by a claim or a start. Afterwards, no earlier holder may write. */
function noteRead(watch: Watch, call: string, outcome: Outcome): void {
  if (!['lease.claim', 'lease.start', 'inbox.enqueue'].includes(call) || !('value' in outcome)) return
  const value = outcome.value as
    | { lease?: { generation: number }; started?: { lease: { generation: number } } }
    | undefined
  const generation = value?.lease?.generation ?? value?.started?.lease.generation ?? 0
  watch.readGeneration = Math.max(watch.readGeneration, generation)
}

/** Checks that each resolution is stored for the call that the sender of the resolution saw. */
function checkResolved({ seen }: Watch, before: Snapshot): void {
  const waited = new Set(
    before.messages.flatMap((row) => (row.role === 'tool' && row.status === 'waiting' ? row.id : [])),
  )
  for (const row of seen.messages) {
    if (row.role !== 'tool' || row.status === 'waiting' || !waited.has(row.id)) continue
    const meant = row.decision?.by ?? textOf(row.parts).replace('result of ', '')
    const token = rowToken(seen, row)
    must('a resolution is for the call that its sender saw', meant === token, `${meant} resolves ${token}`)
  }
}

/** Checks that a run is given up after at least 3 and at most 3 + `strokes` takeovers without a message. */
function noteTakeover(watch: Watch, before: Snapshot, call: string, strokes: number): void {
  const { seen } = watch
  const run = seen.runs.find((one) => one.id === before.header?.activeRun)
  if (run?.error?.code === 'crashed_repeatedly')
    must(
      'a run is given up after three takeovers',
      watch.takeovers >= MAX_TAKEOVERS,
      `${watch.takeovers} takeovers of ${run.id}`,
    )
  const isTaken = call === 'lease.take' && seen.header?.generation !== before.header?.generation
  if (isTaken && before.header?.lease !== undefined) watch.takeovers++
  else if (seen.header?.head !== before.header?.head) watch.takeovers = 0
  must('a run that nobody gets on with is given up', watch.takeovers <= MAX_TAKEOVERS + strokes, seen.header?.activeRun)
}

/** Checks a holder that releases a run or completes it: the outcomes of the run's calls must be stored. */
function noteLeaving({ seen }: Watch, before: Snapshot, call: string): void {
  const { activeRun, generation } = before.header ?? {}
  if (seen.header?.status !== 'live' || seen.header.generation === generation) return
  const isCompleted = seen.runs.some(({ id, status }) => id === activeRun && status === 'completed')
  if (call !== 'lease.release' && !(call === 'log.endRun' && isCompleted)) return
  // If the run is not completed, two kinds of open calls may stay open: calls that are not being executed, and delegate
  // calls, whose members continue later.
  const isLeft = (row: ToolMessage): boolean => !isCompleted && (row.status !== 'running' || isDelegation(row))
  const open = before.messages.find(
    (row) => row.role === 'tool' && row.runId === activeRun && OPEN_STATUSES.includes(row.status) && !isLeft(row),
  )
  must('a run is left or completed with the results of its calls', open === undefined, `${call}: ${open?.id}`)
}

/** Checks that a deletion was requested by a client or follows an expiry. Records the time of the last activity. */
function noteActivity(watch: Watch, { header: before }: Snapshot, call: string, now: number): void {
  const { header } = watch.seen
  if (header?.status === 'deleted' && before?.status === 'live' && !watch.unwanted)
    must('what is deleted has expired', now - watch.activeAt > EXPIRY_MS - CLOCKS_MS, watch.key.session)
  const isActive = header?.activeRun !== before?.activeRun || header?.paused !== before?.paused
  if (isActive || (call === 'imports.append' && header?.head !== before?.head)) watch.activeAt = now
}

/** Records the time at which a session first had work but no holder. */
export function noteWaiting(watch: Watch, now: number, elapsed: number): void {
  const { header } = watch.seen
  const hasWork = header?.activeRun === undefined ? (header?.queued ?? 0) > 0 : !isBlocked(header)
  if (header?.status !== 'live' || !hasWork || !isFree(header, now)) watch.waitsSince = undefined
  else watch.waitsSince ??= elapsed
}

/** Checks that everything that an event reports was stored before the event was emitted. */
function checkEvent({ seen, deleted }: Watch, event: RunEvent): void {
  if (deleted || seen.header?.status !== 'live') return
  const rule = 'what an event reports is stored before'
  if ('message' in event && event.message !== undefined) {
    const stored = seen.messages.find((one) => one.id === event.message?.id)
    must(rule, stored !== undefined, event.type)
    if (event.type === 'tool_call.completed' && stored?.role === 'tool')
      must(rule, stored.status !== 'running' && stored.status !== 'waiting', `${event.type} of a call ${stored.status}`)
  }
  if ('run' in event) {
    const stored = seen.runs.find((one) => one.id === event.run.id)
    must(rule, stored !== undefined, event.type)
    const ended: readonly Run['status'][] = ['completed', 'failed', 'cancelled']
    if (ended.includes(event.run.status)) must(rule, stored?.status === event.run.status, event.type)
  }
}
