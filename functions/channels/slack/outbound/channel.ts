import type { Outcome, RunChannel, Work } from '../../../delivery/channel.ts'
import type { RunStateEvent } from '../../../domain/events.ts'
import type { Clock } from '../../../ports/clock.ts'
import type { LogReader } from '../../../ports/log-reader.ts'
import type { Logger } from '../../../ports/logger.ts'
import type { Outbox } from '../../../ports/outbox.ts'
import type { RunInbox } from '../../../ports/run-inbox.ts'
import { pollUntil } from '../../../ports/poll-until.ts'
import { approval, decided, failure, plain } from './blocks.ts'
import { finishPart, finishReply } from './finish-reply.ts'
import type { Finishing } from './finish-reply.ts'
import { createLiveStream } from './live-stream.ts'
import type { OpenPart } from './live-stream.ts'
import { createProgress } from './progress.ts'
import type { Progress } from './progress.ts'
import { isFinal, openReply, postOnce } from './reply.ts'
import type { Reply, ReplyDependencies } from './reply.ts'
import { isUncertain, readState, readTarget } from './reply-state.ts'
import { SlackBusy, SlackRefusal } from '../api/slack-error.ts'
import type { SlackApi } from '../api/web-api.ts'
import type { Workspaces } from '../workspaces.ts'

/** Interval between updates of a message, and interval between polls for earlier replies of the thread. */
const BATCH_MS = 1_000
const EARLIER_MS = 500
/** Polling interval of a paused run. A resumed run triggers the delivery by itself. */
const PAUSED_MS = 60_000
/** Maximum time that a status waits for the rate limit. The reply does not wait for a status. */
const STATUS_MS = 2_000
/** Time after which Slack has certainly processed a request that was aborted here. */
const IN_PROGRESS_MS = 5_000
/** Maximum number of pending deliveries that are read per thread, to find earlier replies. */
const MAX_EARLIER_DELIVERIES = 100
/** Replaces an empty answer, so that each message gets a reply. */
const EMPTY = '_The answer is empty._'

export interface ChannelDependencies {
  readonly api: SlackApi
  readonly upload: (url: string, text: string) => Promise<void>
  readonly workspaces: Workspaces
  readonly outbox: Pick<Outbox, 'pending'>
  readonly reader: Pick<LogReader, 'run'>
  readonly inbox: Pick<RunInbox, 'cancel'>
  readonly clock: Clock
  readonly logger: Logger
  /** Milliseconds after which a stream continues in a new message. */
  readonly streamMs: number
}

/**
 * Creates the channel for replies in Slack: one reply for each message, in the order in which the messages were
 * accepted.
 */
export function createSlackChannel(dependencies: ChannelDependencies): RunChannel {
  const { clock, logger } = dependencies
  return {
    begins: 'start',
    async deliver(work) {
      try {
        return await deliver(dependencies, work)
      } catch (error) {
        if (error instanceof SlackBusy) return { retryAt: clock.now() + error.milliseconds }
        // The process is stopping during a request. Slack may still process that request. Only a later read of the
        // thread shows whether the message was posted.
        if (work.signal.aborted && isUncertain(readState(work.delivery.state)))
          return { retryAt: clock.now() + IN_PROGRESS_MS, keepClaim: true }
        if (!isFinal(error)) throw error
        logger.error('a reply cannot be delivered', error, { session: work.delivery.session, run: work.run.id })
        return { status: 'failed' }
      }
    },
  }
}

async function deliver(dependencies: ChannelDependencies, work: Work): Promise<Outcome> {
  const { workspaces, api, clock, upload, logger } = dependencies
  const target = readTarget(work.delivery.target)
  const workspace = await workspaces.find(target.team)
  if (workspace === undefined) throw new Error(`no workspace ${target.team} is configured`)
  await earlierReplies(dependencies, work)
  const parts = { api, clock, workspace, target, work, outbox: dependencies.outbox }
  const reply = openReply(parts)
  const finishing = { ...parts, reply, upload, logger }
  await reply.recover()
  const live = createLiveStream({
    ...dependencies,
    reply,
    target,
    team: workspace.team,
    finishPart: (part, open) => finishPart(finishing, { ...part, type: 'tooltrail_reply', isRated: false }, open),
    stopped: async () => void (await dependencies.inbox.cancel(work.delivery, work.run.id)),
  })
  const status = showStatus(dependencies, parts, 'processing')
  const progress = createProgress()
  const end = await follow(dependencies, work, progress, () => live.show(progress))
  await decideApprovals(finishing, progress)
  await complete(finishing, progress, end, live.open(progress))
  await status
  await showStatus(dependencies, parts, 'active')
  return end.type === 'run.paused' ? { retryAt: clock.now() + PAUSED_MS } : { status: 'delivered' }
}

const ANSWER = { type: 'tooltrail_reply', isRated: true } as const
const UNFINISHED = { type: 'tooltrail_reply', isRated: false } as const

/** Posts the outcome of the run. */
async function complete(
  finishing: Finishing,
  progress: Progress,
  end: RunStateEvent,
  open: OpenPart | undefined,
): Promise<void> {
  const { reply, work } = finishing
  const text = progress.text()
  const hasBegun = reply.state().parts.length > 0
  switch (end.type) {
    case 'run.completed':
      return finishReply(finishing, text === '' ? EMPTY : text, ANSWER, open)
    case 'run.cancelled':
      if (text === '' && !hasBegun) return postOnce(reply, 'stopped', plain('Stopped.'))
      return finishReply(finishing, text, UNFINISHED, open)
    case 'run.failed':
      if (hasBegun) await finishReply(finishing, text, { ...UNFINISHED, type: 'tooltrail_notice' }, open)
      return postOnce(reply, 'error', failure(work.run.id))
    case 'run.paused':
      // The reply's text is finished before the question is posted, because the text explains the question.
      if (hasBegun || text !== '') await finishReply(finishing, text, UNFINISHED, open)
      return askApprovals(reply, work.run.id, progress)
    default:
      throw new Error(`run ${work.run.id} is ${end.run.status}`)
  }
}

/**
 * Waits until the thread's earlier runs have their replies. Ignores paused and cancelled runs: the next run continues
 * without their replies.
 */
async function earlierReplies({ outbox, reader, clock }: ChannelDependencies, work: Work): Promise<void> {
  const { delivery, signal } = work
  await pollUntil(clock, { everyMs: EARLIER_MS, signal }, async () => {
    let isWaiting = false
    for (const one of await outbox.pending(delivery, MAX_EARLIER_DELIVERIES)) {
      if (one.kind !== delivery.kind || one.id >= delivery.id) continue
      const run = await reader.run(delivery, one.id)
      isWaiting ||= run !== undefined && run.status !== 'paused' && run.status !== 'cancelled'
    }
    return isWaiting ? undefined : true
  })
}

/** Follows a run to its end or pause, and shows its progress at intervals. */
async function follow(
  { clock }: ChannelDependencies,
  work: Work,
  progress: Progress,
  show: () => Promise<boolean>,
): Promise<RunStateEvent> {
  let isOver = false
  let hasNews = false
  let wake: () => void = () => undefined
  const reading = (async () => {
    try {
      for await (const event of work.events()) {
        progress.note(event)
        hasNews = true
        wake()
      }
    } finally {
      isOver = true
      wake()
    }
  })()
  // Prevents an unhandled rejection; the error is thrown by the `await` below.
  reading.catch(() => undefined)
  while (!isOver) {
    if (!hasNews) await new Promise<void>((resolve) => (wake = resolve))
    hasNews = false
    if (isOver || progress.end() !== undefined) continue
    // Collects changes for one interval, because Slack limits the calls. The first text is shown at once.
    if ((await show()) && !isOver) await Promise.race([clock.sleep(BATCH_MS, work.signal), reading])
  }
  await reading
  work.signal.throwIfAborted()
  const end = progress.end()
  if (end === undefined) throw new Error(`the events of run ${work.run.id} ended before it did`)
  return end
}

/** Sets the thread's status. A failure is only logged. */
async function showStatus(
  { logger }: ChannelDependencies,
  { api, workspace, target, work }: ReplyDependencies,
  status: 'processing' | 'active',
): Promise<void> {
  const { token, team } = workspace
  const method = 'agents.sessions.setStatus'
  const args = { channel_id: target.channel, thread_ts: target.thread, status, initiator_user_id: target.user }
  try {
    await api.call({ token, team, method, args, signal: work.signal, timeoutMs: STATUS_MS })
  } catch (error) {
    logger.info('Slack did not show a status', { error: String(error) })
  }
}

/** Posts one question for each approval that the run waits for. */
async function askApprovals(reply: Reply, run: string, progress: Progress): Promise<void> {
  for (const { id, toolName, status } of progress.approvals())
    if (status === 'waiting') await postOnce(reply, `approval:${id}`, approval(run, id, toolName))
}

/** Replaces the buttons of decided approvals with the decision in the log. */
async function decideApprovals({ reply, target }: Finishing, progress: Progress): Promise<void> {
  for (const call of progress.approvals()) {
    const name = `approval:${call.id}`
    const post = reply.state().posts[name]
    if (call.status === 'waiting' || post?.ts === undefined || post.done === true) continue
    const { ts } = post
    try {
      await reply.retry(() => reply.call('chat.update', { ts, ...decided(target, call) }))
    } catch (error) {
      if (!(error instanceof SlackRefusal)) throw error
    }
    await reply.save({ ...reply.state(), posts: { ...reply.state().posts, [name]: { ts, done: true } } })
  }
}
