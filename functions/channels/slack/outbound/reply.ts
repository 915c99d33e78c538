import { sha256 } from '../../../domain/hash.ts'
import type { Work } from '../../../delivery/channel.ts'
import type { Delivery } from '../../../domain/delivery.ts'
import type { JsonObject } from '../../../domain/json.ts'
import type { Clock } from '../../../ports/clock.ts'
import type { Outbox } from '../../../ports/outbox.ts'
import { isUncertain, readState, stateJson } from './reply-state.ts'
import type { PartState, ReplyState, Target } from './reply-state.ts'
import { isRefusal, SlackBusy, SlackRefusal, SlackSilence } from '../api/slack-error.ts'
import { threadMessages } from '../inbound/thread-messages.ts'
import type { ThreadMessage } from '../inbound/thread-messages.ts'
import type { SlackApi } from '../api/web-api.ts'
import type { Workspace } from '../workspaces.ts'

/**
 * Number of attempts for a call whose outcome is unknown, and the first wait in milliseconds. The wait doubles each
 * time.
 */
const ATTEMPTS = 5
const FIRST_PAUSE_MS = 500

export interface ReplyDependencies {
  readonly api: SlackApi
  readonly clock: Clock
  readonly workspace: Workspace
  readonly target: Target
  readonly work: Pick<Work, 'delivery' | 'run' | 'save' | 'signal'>
  readonly outbox: Pick<Outbox, 'pending'>
}

/** A finished message of a reply, or a separate notice. */
export type MessageType = 'tooltrail_reply' | 'tooltrail_notice'

/**
 * The messages of a delivery in Slack. Each post is recorded before it is sent. If the outcome of a post is unknown,
 * the thread is searched for that post before anything is posted again.
 */
export interface Reply {
  readonly thread: string
  /** The last saved state. */
  state(): ReplyState
  save(state: ReplyState): Promise<void>
  /** Calls a method with this channel. */
  call(method: string, args: JsonObject): Promise<JsonObject>
  /**
   * Reads the thread to resolve posts with an unknown outcome. A post that is found gets its `ts`. A post that is not
   * found is dropped from the state.
   */
  recover(): Promise<void>
  /** Retries an idempotent step while Slack does not respond. */
  retry<Result>(step: () => Promise<Result>): Promise<Result>
  metadata(type: MessageType, fields: JsonObject): JsonObject
}

/** Opens the reply with its last saved state. */
export function openReply({ api, clock, workspace, target, work, outbox }: ReplyDependencies): Reply {
  const { token, team, bot } = workspace
  let state = readState(work.delivery.state)

  async function save(next: ReplyState): Promise<void> {
    await work.save(stateJson(next))
    state = next
  }

  async function retry<Result>(step: () => Promise<Result>): Promise<Result> {
    for (let attempt = 1; ; attempt++)
      try {
        return await step()
      } catch (error) {
        if (!(error instanceof SlackSilence) || attempt === ATTEMPTS || work.signal.aborted) throw error
        await clock.sleep(FIRST_PAUSE_MS * 2 ** (attempt - 1), work.signal)
      }
  }

  return {
    thread: target.thread,
    state: () => state,
    save,
    retry,
    async call(method, args) {
      work.signal.throwIfAborted()
      return api.call({ token, team, method, args: { channel: target.channel, ...args }, signal: work.signal })
    },
    async recover() {
      if (!isUncertain(state)) return
      const all = await retry(() => threadMessages(api, token, target, { after: target.ts, signal: work.signal }))
      await save(
        recovered(
          state,
          work.run.id,
          all.filter(({ user }) => user === bot),
          await streamsOfOthers(outbox, work.delivery),
        ),
      )
    },
    metadata: (type, fields) => ({ event_type: type, event_payload: { run_id: work.run.id, ...fields } }),
  }
}

/**
 * Records one more message, posts it, and then records its `ts`. If Slack rejects the post, the first record is
 * removed. If the outcome is unknown, the record stays.
 */
export async function addPart(
  reply: Reply,
  part: PartState,
  post: (number: number) => Promise<JsonObject>,
): Promise<void> {
  const before = reply.state()
  const index = before.parts.length
  await reply.save({ ...before, parts: [...before.parts, part] })
  try {
    const { ts } = await post(index + 1)
    if (typeof ts === 'string') await changePart(reply, index, { ts })
  } catch (error) {
    if (error instanceof SlackRefusal || error instanceof SlackBusy) await reply.save(before)
    throw error
  }
}

export async function changePart(reply: Reply, index: number, change: Partial<PartState>): Promise<void> {
  const state = reply.state()
  await reply.save({ ...state, parts: state.parts.map((part, at) => (at === index ? { ...part, ...change } : part)) })
}

/** Posts a separate message once under its name. */
export async function postOnce(reply: Reply, name: string, content: JsonObject): Promise<void> {
  await reply.retry(async () => {
    await reply.recover()
    const before = reply.state()
    if (before.posts[name] !== undefined) return
    await reply.save({ ...before, posts: { ...before.posts, [name]: {} } })
    const metadata = reply.metadata('tooltrail_notice', { notice: name })
    try {
      const { ts } = await reply.call('chat.postMessage', { thread_ts: reply.thread, metadata, ...content })
      if (typeof ts === 'string') await reply.save({ ...before, posts: { ...before.posts, [name]: { ts } } })
    } catch (error) {
      if (error instanceof SlackRefusal || error instanceof SlackBusy) await reply.save(before)
      throw error
    }
  })
}

/** Streams that belong to other replies of the thread. */
interface OtherStreams {
  readonly recorded: ReadonlySet<string>
  /** Number of earlier replies that may have started a stream without recording its `ts`. */
  readonly unknown: number
}

/** Maximum number of pending deliveries that are read per thread. */
const MAX_OTHERS = 100

/**
 * Reads the streams of the other pending replies. Messages of finished replies name their run, so those replies are not
 * read.
 */
async function streamsOfOthers(outbox: Pick<Outbox, 'pending'>, { id, kind, ...key }: Delivery): Promise<OtherStreams> {
  const pending = await outbox.pending(key, MAX_OTHERS)
  const others = pending.flatMap((one) =>
    one.kind === kind && one.id !== id ? [{ id: one.id, parts: readState(one.state).parts }] : [],
  )
  const isUnknown = ({ ts, stream }: PartState): boolean => ts === undefined && stream === true
  return {
    recorded: new Set(others.flatMap(({ parts }) => parts.flatMap(({ ts = '' }) => ts))),
    unknown: others.filter((one) => one.id < id && one.parts.some(isUnknown)).length,
  }
}

/**
 * Resolves posts with an unknown outcome, using the bot's messages since the user's message. A stream without metadata
 * names no run. The runs of a thread are serial, so a stream that no other reply has recorded belongs to this run. An
 * earlier run that was cancelled or paused may have a pending reply. The streams of that reply precede those of this
 * run.
 */
function recovered(
  state: ReplyState,
  run: string,
  messages: readonly ThreadMessage[],
  others: OtherStreams,
): ReplyState {
  const recorded = new Set([...state.parts, ...Object.values(state.posts)].map(({ ts }) => ts))
  const unnamed = messages.filter(
    ({ ts, metadata, streaming_state: streaming }) =>
      streaming !== undefined && metadata === undefined && !recorded.has(ts) && !others.recorded.has(ts),
  )
  const ours = messages.filter(({ metadata }) => metadata?.event_payload['run_id'] === run)
  const parts = state.parts.flatMap((part, index): PartState[] => {
    if (part.ts !== undefined) return [part]
    const named = ours.find(
      ({ metadata }) => metadata?.event_payload['part'] === index + 1 && metadata.event_payload['notice'] === undefined,
    )
    const found = named ?? (part.stream === true ? unnamed[others.unknown] : undefined)
    return found === undefined ? [] : [{ ...part, ts: found.ts }]
  })
  const posts = Object.entries(state.posts).flatMap(([name, post]) => {
    if (post.ts !== undefined) return [[name, post] as const]
    const found = ours.find(({ metadata }) => metadata?.event_payload['notice'] === name)
    return found === undefined ? [] : [[name, { ts: found.ts }] as const]
  })
  const { file } = state
  const isThere = file !== undefined && messages.some(({ files }) => files.some(({ id }) => id === file.id))
  return {
    parts,
    posts: Object.fromEntries(posts),
    ...(file === undefined ? {} : { file: isThere ? { ...file, done: true } : file }),
  }
}

/** Returns the hash of a message, which shows whether a finished message must be changed. */
export const hashOf = (text: string): string => sha256(text).slice(0, 16)

/** Rejections that a later attempt cannot change. */
export const isFinal = (error: unknown): boolean =>
  isRefusal(
    error,
    'channel_not_found',
    'msg_too_long',
    'is_archived',
    'not_in_channel',
    'cannot_reply_to_message',
    'restricted_action',
    'restricted_action_read_only_channel',
    'restricted_action_thread_only_channel',
    'restricted_action_thread_locked',
  )
