import { definedFields } from '../../../functions/domain/defined-fields.ts'
import { eventsSoFar } from '../../../functions/agent/events/follow-run.ts'
import { TooltrailError } from '../../../functions/domain/errors.ts'
import type { RunEvent } from '../../../functions/domain/events.ts'
import { isEnded } from '../../../functions/domain/runs/run.ts'
import { isBlocked } from '../../../functions/domain/session.ts'
import type { SessionPorts } from '../../../test/contracts/stores.ts'
import { must } from '../harness.ts'
import type { Harness } from '../harness.ts'
import type { Program } from '../program.ts'
import type { Servers } from '../world/servers.ts'
import type { Follower, Watch } from './sessions.ts'

/** Milliseconds between two connections. */
const RECONNECT_MS = 500
/** Time for which followers still reconnect after the last fault. */
const QUIET_TIMEOUT_MS = 90_000
/** Probability that a follower disconnects after an event. */
const CUT_OFF = 0.3

/** Follows a run until it has ended, or until the last time at which followers reconnect. */
export async function followRun(harness: Harness, servers: Servers, watch: Watch, server: number): Promise<void> {
  const runId = watch.seen.header?.activeRun ?? watch.accepted.at(-1)?.runId
  if (runId === undefined) return
  const follower: Follower = { runId, ids: [], hasEnded: false }
  watch.followers.push(follower)
  const until = harness.script.quietAt + QUIET_TIMEOUT_MS
  for (let tried = 0; !follower.hasEnded && !watch.unwanted && harness.elapsed() < until; tried++) {
    const { process, program } = servers.all[(server + tried) % servers.all.length] ?? {}
    if (process !== undefined && program !== undefined) {
      const leave = new AbortController()
      await new Promise<void>((resolve) => {
        const giveUp = (): void => {
          if (process.state === 'dead' || isQueuedBehind(watch, runId) || harness.elapsed() >= until) resolve()
          else harness.timeline.after(5_000, undefined, giveUp)
        }
        giveUp()
        harness.timeline.after(0, process, () => {
          void read(harness, watch, program, { follower, leave }).then(
            () => harness.timeline.after(0, undefined, resolve),
            (error: unknown) => harness.fail(error),
          )
        })
      })
      leave.abort()
    }
    await new Promise<void>((resolve) => harness.timeline.after(RECONNECT_MS, undefined, resolve))
  }
}

/** Whether the run is queued behind a run that waits for a person. */
function isQueuedBehind({ seen }: Watch, runId: string): boolean {
  const run = seen.runs.find((one) => one.id === runId)
  return run?.status === 'queued' && seen.header !== undefined && isBlocked(seen.header)
}

/** Reads the events of one connection. Checks that no event is sent twice or out of order. */
async function read(
  harness: Harness,
  watch: Watch,
  { service }: Program,
  { follower, leave }: { readonly follower: Follower; readonly leave: AbortController },
): Promise<void> {
  const { runId, ids } = follower
  const after = ids.at(-1)
  const sent = new Set<string>()
  try {
    const options = { signal: leave.signal, ...definedFields({ after }) }
    for await (const event of service.follow(watch.key, runId, options)) {
      // A stream may continue for a moment after the client has disconnected.
      if (leave.signal.aborted) return
      if (!('id' in event)) continue
      must('a follower gets each event once', !sent.has(event.id), event.id)
      sent.add(event.id)
      if (ids.includes(event.id)) continue
      ids.push(event.id)
      follower.hasEnded = isEnd(event)
      if (harness.dice.chance('a follower disconnects', CUT_OFF)) leave.abort()
    }
    harness.note(`client: a stream of ${watch.key.session} has ended after ${ids.length} events`)
  } catch (error) {
    if (!(error instanceof TooltrailError)) throw error
    harness.note(`client: a stream of ${watch.key.session} broke: ${error.message}`)
  }
}

const isEnd = (event: RunEvent): boolean => 'run' in event && isEnded(event.run.status)

/**
 * Checks that each follower got the events of the log in order. If a follower saw the end of the run, it must have got
 * all events.
 */
export async function checkFollowers(ports: SessionPorts, { key, followers }: Watch): Promise<void> {
  for (const { runId, ids, hasEnded } of followers) {
    const whole: string[] = []
    for await (const event of eventsSoFar(ports, key, runId)) if ('id' in event) whole.push(event.id)
    // If a run was merged into another one, the log no longer shows that it was queued. Followers may have got `run.queued`
    // before the merge.
    const isMerged = !whole.includes(`${runId}:run.queued`)
    const got = isMerged ? ids.filter((id) => id !== `${runId}:run.queued`) : ids
    const expected = hasEnded ? whole : whole.slice(0, got.length)
    const place = Math.max(
      0,
      got.findIndex((id, index) => id !== expected[index]),
    )
    must(
      'a prefix of the events and a resume are all events, once and in order',
      got.join() === expected.join(),
      `${runId}: got ${got.slice(place).join(' ')}; the log has ${expected.slice(place).join(' ')}`,
    )
  }
}

/**
 * Checks the events that the holders of a run emitted. A reader must derive the same events from the log, in the same
 * order. Call it only if no holder died. Two events may be absent. The process that accepted a run may not emit
 * `run.queued`. And another process may resume a run before its holder knows that the pause is stored: that holder
 * emits no `run.paused`.
 */
export async function checkLive(ports: SessionPorts, { key, live }: Watch): Promise<void> {
  for (const [runId, emitted] of live) {
    const derived: string[] = []
    for await (const event of eventsSoFar(ports, key, runId))
      if ('id' in event && event.type !== 'run.queued' && (event.type !== 'run.paused' || emitted.has(event.id)))
        derived.push(event.id)
    const got = [...emitted].filter((id) => !id.endsWith(':run.queued'))
    must(
      'holders emit the events that readers derive from the log',
      got.join() === derived.join(),
      `${runId}: emitted ${got.join(' ')}; the log has ${derived.join(' ')}`,
    )
  }
}
