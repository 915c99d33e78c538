import type { JsonObject } from '../../../domain/json.ts'
import { feedbackBlock, withBlock } from './blocks.ts'
import type { Logger } from '../../../ports/logger.ts'
import type { OpenPart } from './live-stream.ts'
import { chunksOf, MAX_REPLY_MESSAGES } from './live-stream.ts'
import { addPart, changePart, hashOf, isFinal, postOnce } from './reply.ts'
import type { MessageType, Reply } from './reply.ts'
import type { ReplyDependencies } from './reply.ts'
import type { ReplyState } from './reply-state.ts'
import { isRefusal, SlackRefusal, SlackSilence } from '../api/slack-error.ts'
import { pieceEnd, renderPiece } from './split-markdown.ts'
import { threadMessages } from '../inbound/thread-messages.ts'

export interface Finishing extends ReplyDependencies {
  readonly reply: Reply
  /** Sends the bytes of a file to the address from Slack. */
  readonly upload: (url: string, text: string) => Promise<void>
  readonly logger: Logger
}

/**
 * Makes the reply show exactly `text`, with metadata that name the run. Continues from any state that an earlier
 * process left, even if that process crashed. Messages that are already correct stay unchanged. `open`: the message
 * that this process was streaming.
 */
export async function finishReply(
  finishing: Finishing,
  text: string,
  how: Kind,
  open: OpenPart | undefined,
): Promise<void> {
  const { reply } = finishing
  const { type } = how
  const isRated = (index: number, to: number): boolean =>
    how.isRated && (index === MAX_REPLY_MESSAGES - 1 || (index < MAX_REPLY_MESSAGES && to === text.length))
  await reply.recover()
  let end = 0
  for (let index = 0; index < reply.state().parts.length; index++) {
    const { parts } = reply.state()
    const { from, to, done } = parts[index] ?? { from: 0 }
    const begin = Math.min(from, text.length)
    end = Math.min(to ?? parts[index + 1]?.from ?? pieceEnd(text, begin), text.length)
    const part = { index, to: end, text: renderPiece(text, begin, end), type, isRated: isRated(index, end) }
    const known = open?.index === index ? open : undefined
    if (done !== doneOf(part)) await finishPart(finishing, part, known)
  }
  const resume = async (most: number): Promise<void> => {
    while (end < text.length && reply.state().parts.length < most) {
      const from = end
      end = pieceEnd(text, from)
      const rated = isRated(reply.state().parts.length, end)
      await addPost(finishing, { from, to: end, text: renderPiece(text, from, end), type, isRated: rated })
    }
  }
  await resume(MAX_REPLY_MESSAGES)
  // If Slack accepts no file, the rest of the answer is posted as messages.
  if (end < text.length && !(await addFile(finishing, text, how))) await resume(Infinity)
}

interface Kind {
  readonly type: MessageType
  /** Whether the last message has feedback buttons. */
  readonly isRated: boolean
}

interface FinishedPart extends Kind {
  readonly index: number
  readonly to: number
  readonly text: string
}

const doneOf = ({ text, isRated }: Pick<FinishedPart, 'text' | 'isRated'>): string =>
  hashOf(isRated ? `${text}\0rated` : text)

/** Finishes one message of the reply, which then shows `text`. */
export async function finishPart(finishing: Finishing, part: FinishedPart, open: OpenPart | undefined): Promise<void> {
  const { reply } = finishing
  const { index, to, text, type, isRated } = part
  const { ts, stream } = reply.state().parts[index] ?? {}
  if (ts === undefined) throw new Error(`part ${index + 1} of a reply was not posted`)
  const metadata = reply.metadata(type, { part: index + 1 })
  const isSaid = stream === true && (await stopWith(finishing, { ts, text, metadata, isRated }, open))
  if (!isSaid && text === '') await remove(reply, ts)
  else if (!isSaid) await replace(finishing, { ts, text, metadata, isRated })
  await changePart(reply, index, { to, done: doneOf(part) })
}

interface Message {
  readonly ts: string
  readonly text: string
  readonly metadata: JsonObject
  readonly isRated: boolean
}

/** Sends a text, with feedback buttons if Slack accepts them: an answer must not fail because of its buttons. */
async function say<Result>(
  { work }: Finishing,
  { text, isRated }: Pick<Message, 'text' | 'isRated'>,
  send: (content: JsonObject) => Promise<Result>,
): Promise<Result> {
  if (isRated && text !== '')
    try {
      return await send(withBlock(text, feedbackBlock(work.run.id)))
    } catch (error) {
      if (!isRefusal(error, 'invalid_blocks', 'invalid_blocks_format')) throw error
    }
  return send({ markdown_text: text })
}

/** Ends the stream with the missing text. Returns whether the streamed message then shows `text`. */
async function stopWith(
  { reply, work }: Finishing,
  { ts, text, metadata, isRated }: Message,
  open: OpenPart | undefined,
): Promise<boolean> {
  const isKnown = open !== undefined && text.startsWith(open.sent)
  const rest = isKnown ? text.slice(open.sent.length) : ''
  const chunks = isKnown ? chunksOf(rest, open.news ?? []) : []
  try {
    const blocks = isRated ? { blocks: [feedbackBlock(work.run.id)] } : {}
    await reply.call('chat.stopStream', { ts, metadata, ...(chunks.length === 0 ? {} : { chunks }), ...blocks })
    return isKnown
  } catch (error) {
    // The stream may have ended, with or without the missing text. The result is false, so that the caller replaces the
    // message.
    if (error instanceof SlackRefusal || error instanceof SlackSilence) return false
    throw error
  }
}

async function replace(finishing: Finishing, message: Message): Promise<void> {
  const { reply } = finishing
  const { ts, metadata } = message
  const update = (): Promise<JsonObject> =>
    say(finishing, message, (content) => reply.call('chat.update', { ts, ...content, metadata }))
  try {
    await reply.retry(update)
  } catch (error) {
    if (isRefusal(error, 'message_not_found')) return
    if (isRefusal(error, 'edit_window_closed')) return postRest(finishing, message)
    if (!isRefusal(error, 'streaming_state_conflict')) throw error
    await reply.retry(() => stopAgain(reply, ts))
    await reply.retry(update)
  }
}

async function stopAgain(reply: Reply, ts: string): Promise<void> {
  try {
    await reply.call('chat.stopStream', { ts })
  } catch (error) {
    if (!isRefusal(error, 'message_not_in_streaming_state', 'stopped_by_user')) throw error
  }
}

/** Posts the rest of a text as a separate message, because its own message can no longer be edited. */
async function postRest({ api, workspace, target, work, reply }: Finishing, { ts, text }: Message): Promise<void> {
  const since = { after: target.ts, signal: work.signal }
  const messages = await reply.retry(() => threadMessages(api, workspace.token, target, since))
  const shown = messages.find((one) => one.ts === ts)?.text ?? ''
  const rest = text.slice(commonStart(shown, text))
  const name = `rest:${ts}`
  const metadata = reply.metadata('tooltrail_reply', { notice: name })
  if (rest !== '') await postOnce(reply, name, { markdown_text: rest, metadata })
}

/** Deletes a message that has no text any more, because the model's attempt was abandoned. */
async function remove(reply: Reply, ts: string): Promise<void> {
  try {
    await reply.retry(() => reply.call('chat.delete', { ts }))
  } catch (error) {
    if (!isRefusal(error, 'message_not_found')) throw error
  }
}

type NewPost = Omit<FinishedPart, 'index'> & { readonly from: number }

/** Posts one more message of the reply. */
async function addPost(finishing: Finishing, post: NewPost): Promise<void> {
  const { reply, target } = finishing
  const { from, to, type } = post
  const index = reply.state().parts.length
  await reply.retry(async () => {
    await reply.recover()
    if (reply.state().parts.length > index) return
    await addPart(reply, { from, to, done: doneOf(post) }, (part) => {
      const place = { thread_ts: target.thread, metadata: reply.metadata(type, { part }) }
      return say(finishing, post, (content) => reply.call('chat.postMessage', { ...place, ...content }))
    })
  })
}

/**
 * Adds a file with the whole text to the thread, unless the recorded file has that text. Returns false if Slack accepts
 * no file. A run that continues after a pause has more text, and therefore gets another file. Slack stores no metadata
 * with a file, so the file is identified by its recorded id. An upload address expires. So the attempt after a failed
 * upload requests a new address. Slack does not show an upload that was never completed.
 */
async function addFile(
  { reply, target, work, upload, logger }: Finishing,
  text: string,
  { isRated }: Pick<Kind, 'isRated'>,
): Promise<boolean> {
  let isSent = true
  try {
    await reply.retry(async () => {
      await reply.recover()
      const known = reply.state().file
      const file = known !== undefined && known.says === hashOf(text) ? known : await newFile(reply, text)
      if (file.done === true) return
      isSent = false
      await upload(file.url, text)
      isSent = true
      const place = { channel_id: target.channel, thread_ts: target.thread }
      const files = [{ id: file.id, title: isRated ? 'The whole answer' : 'The answer so far' }]
      await reply.call('files.completeUploadExternal', { files, ...place })
      await reply.save({ ...reply.state(), file: { ...file, done: true } })
    })
    return true
  } catch (error) {
    const isRefused = error instanceof SlackRefusal
    const { file: lost, ...kept } = reply.state()
    if (lost !== undefined && (isRefused || !isSent) && !work.signal.aborted) await reply.save(kept)
    if (!isRefused || isFinal(error) || isRefusal(error, 'file_not_found')) throw error
    logger.warn('a long answer comes without its file', { session: work.delivery.session, error: error.message })
    return false
  }
}

async function newFile(reply: Reply, text: string): Promise<NonNullable<ReplyState['file']>> {
  const args = { filename: 'answer.md', length: Buffer.byteLength(text) }
  const { file_id: id, upload_url: url } = await reply.call('files.getUploadURLExternal', args)
  if (typeof id !== 'string' || typeof url !== 'string') throw new Error('Slack gave out no address for a file')
  const file = { id, url, says: hashOf(text) }
  await reply.save({ ...reply.state(), file })
  return file
}

function commonStart(one: string, other: string): number {
  let length = 0
  while (length < one.length && length < other.length && one[length] === other[length]) length++
  return length
}
