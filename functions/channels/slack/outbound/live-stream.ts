import { steadyTime } from '../../../domain/time/steady-time.ts'
import type { Json } from '../../../domain/json.ts'
import type { Clock } from '../../../ports/clock.ts'
import type { Logger } from '../../../ports/logger.ts'
import type { Progress, Task } from './progress.ts'
import { addPart } from './reply.ts'
import type { Reply } from './reply.ts'
import type { Target } from './reply-state.ts'
import { isRefusal, SlackBusy, SlackRefusal, SlackSilence } from '../api/slack-error.ts'
import { isDecided, pieceEnd, renderPiece, startOfPiece, sureEnd } from './split-markdown.ts'
import type { SlackApi } from '../api/web-api.ts'

/** Maximum number of messages in a reply; a longer answer continues in a file. */
export const MAX_REPLY_MESSAGES = 5
/**
 * Maximum time that the start of a stream waits for the rate limit. If the wait would be longer, nothing is streamed:
 * the complete reply is posted.
 */
const MAX_START_WAIT_MS = 5_000
/** Extra time in which a stream may reach the end of a paragraph, as a share of `streamMs`. */
const GRACE = 1 / 8

/** The message that this process is streaming, and the text sent so far. */
export interface OpenPart {
  readonly index: number
  readonly since: number
  sent: string
  /** Position in the answer at which the sent text ends. */
  to: number
  /** Tasks whose current status has not been sent yet. */
  readonly news?: readonly Task[]
}

interface Dependencies {
  readonly api: Pick<SlackApi, 'wait'>
  readonly clock: Pick<Clock, 'now'>
  readonly logger: Logger
  readonly target: Target
  readonly team: string
  readonly streamMs: number
  readonly reply: Reply
  /** Finishes a message of the reply with this text. */
  finishPart(
    part: { readonly index: number; readonly to: number; readonly text: string },
    open: OpenPart,
  ): Promise<void>
  /** Called when a person pressed Slack's Stop button. */
  stopped(): Promise<void>
}

/**
 * Shows the progress of a run while it executes. A failure ends only the streaming. The reply is completed afterwards.
 */
export interface LiveStream {
  /** Shows the current progress. Returns whether Slack was called; false if there was nothing new. */
  show(progress: Progress): Promise<boolean>
  /** The message that this process is streaming, with the text that Slack has confirmed. */
  open(progress: Progress): OpenPart | undefined
}

interface Streaming extends Dependencies {
  readonly shown: Map<string, Task['status']>
  open?: OpenPart
  isOver: boolean
}

export function createLiveStream(dependencies: Dependencies): LiveStream {
  const now = steadyTime(() => dependencies.clock.now())
  const streaming: Streaming = { ...dependencies, clock: { now }, shown: new Map(), isOver: false }
  return {
    open(progress) {
      const { isOver, open } = streaming
      return isOver || open === undefined ? undefined : { ...open, news: newsOf(streaming, progress) }
    },
    async show(progress) {
      if (streaming.isOver) return false
      try {
        return await show(streaming, progress)
      } catch (error) {
        if (!(error instanceof SlackRefusal || error instanceof SlackSilence || error instanceof SlackBusy)) throw error
        streaming.isOver = true
        if (isRefusal(error, 'stopped_by_user')) await dependencies.stopped()
        else dependencies.logger.warn('a reply is no longer streamed', { error: error.message })
        return true
      }
    },
  }
}

async function show(streaming: Streaming, progress: Progress): Promise<boolean> {
  const { clock, reply, streamMs, open } = streaming
  const text = progress.text()
  const tasks = newsOf(streaming, progress)
  if (open === undefined) return begin(streaming, text, tasks)
  const from = reply.state().parts[open.index]?.from ?? 0
  // The shown text is no longer part of the answer. The message is corrected when it is finished.
  if (!`${startOfPiece(text, from)}${text.slice(from)}`.startsWith(open.sent)) return stopShowing(streaming)
  if (isDecided(text, from)) return end(streaming, text, pieceEnd(text, from))
  const to = sureEnd(text, from)
  const age = clock.now() - open.since
  const gap = age < streamMs ? -1 : text.lastIndexOf('\n\n', to - 2)
  if (gap >= 0 && gap + 2 >= open.to && gap >= from) return end(streaming, text, gap + 2)
  const line = text.lastIndexOf('\n', to - 1) + 1
  if (age > streamMs * (1 + GRACE)) return end(streaming, text, line > open.to ? line : to)
  return append(streaming, text, to, tasks)
}

const newsOf = ({ shown }: Streaming, progress: Progress): readonly Task[] =>
  progress.tasks().filter(({ id, status }) => shown.get(id) !== status)

function stopShowing(streaming: Streaming): false {
  streaming.isOver = true
  return false
}

/** Starts a message with the current text. */
async function begin(streaming: Streaming, text: string, tasks: readonly Task[]): Promise<boolean> {
  const { api, clock, team, target, reply, shown } = streaming
  const { parts } = reply.state()
  const from = parts.length === 0 ? 0 : parts.at(-1)?.to
  const method = 'chat.startStream'
  const isLate = api.wait({ team, method, args: {} }) > MAX_START_WAIT_MS
  if (from === undefined || parts.length >= MAX_REPLY_MESSAGES || isLate) return stopShowing(streaming)
  // A reply continues in a new message only if there is text: after a crash, the reply may already be complete.
  if (text.length <= from && (tasks.length === 0 || parts.length > 0)) return false
  const to = sureEnd(text, from)
  const sent = to > from ? `${startOfPiece(text, from)}${text.slice(from, to)}` : ''
  await addPart(reply, { from, stream: true }, () =>
    reply.call(method, {
      thread_ts: target.thread,
      recipient_user_id: target.user,
      recipient_team_id: target.team,
      task_display_mode: 'timeline',
      chunks: chunksOf(sent, tasks),
    }),
  )
  streaming.open = { index: parts.length, since: clock.now(), sent, to: Math.max(from, to) }
  for (const { id, status } of tasks) shown.set(id, status)
  return true
}

async function append(streaming: Streaming, text: string, to: number, tasks: readonly Task[]): Promise<boolean> {
  const { reply, shown, open } = streaming
  if (open === undefined) return false
  const start = open.sent === '' ? startOfPiece(text, open.to) : ''
  const more = to > open.to ? `${start}${text.slice(open.to, to)}` : ''
  const chunks = chunksOf(more, tasks)
  if (chunks.length === 0) return false
  const { ts } = reply.state().parts[open.index] ?? {}
  await reply.call('chat.appendStream', { ts, chunks })
  open.sent += more
  open.to = Math.max(to, open.to)
  for (const { id, status } of tasks) shown.set(id, status)
  return true
}

/** Finishes the message; the next one starts with the following text. */
async function end(streaming: Streaming, text: string, to: number): Promise<boolean> {
  const { reply, open } = streaming
  if (open === undefined) return false
  delete streaming.open
  const from = reply.state().parts[open.index]?.from ?? 0
  await streaming.finishPart({ index: open.index, to, text: renderPiece(text, from, to) }, open)
  return true
}

/** The new text and tasks, in the format of a stream. */
export const chunksOf = (text: string, tasks: readonly Task[]): Json[] => [
  ...tasks.map((task): Json => ({ type: 'task_update', ...task })),
  ...(text === '' ? [] : [{ type: 'markdown_text', text }]),
]
