import { setTimeout as sleep } from 'node:timers/promises'
import { createClient } from '../../client/client.ts'
import type { Json as ApiJson } from '../../client/api-types.ts'
import type { Client } from '../../client/client.ts'
import { ApiProblem } from '../../client/problem.ts'
import { NotRunning } from '../../runtime/command.ts'
import { definedFields } from '../../domain/defined-fields.ts'
import type { JsonObject } from '../../domain/json.ts'
import { isRecord, placeOf } from '../../log/session-files/transcript.ts'
import type { FileMessage, FilePlace } from '../../log/session-files/transcript.ts'
import { lateRound } from '../../log/session-files/late-round.ts'
import { branchAt, compare } from './branches.ts'
import type { CountedMessage } from './counted-messages.ts'
import { continueEarlier, PARSER, parserAfter, storedEarlier } from './earlier-parser.ts'
import { plainPath } from './find-files.ts'
import type { FileSession } from './sessions-of-file.ts'

export interface Target {
  readonly url: string
  readonly key?: string | undefined
}

/**
 * Whether this error would occur for every other conversation, too. True if the program, or another server at its
 * address, rejects all conversations.
 */
export const isForAll = (error: unknown): boolean =>
  error instanceof ApiProblem &&
  (error.status === 401 || error.status === 403 || error.code === 'unexpected_response' || error.code === 'not_found')

/** Minimum length of a chunk of lines, in characters. Lines are built and sent in chunks; the last one may be shorter. */
const PIECE = 256 * 1024
/** Maximum attempts to send a conversation that the program rejects temporarily. */
const ATTEMPTS = 5
const FOR_NOW = new Set([429, 503])
const WAIT_MS = 1_000

/** Creates a client of the program. Its requests reject with `NotRunning` if no server responds. */
export const clientOf = ({ url, key }: Target): Client =>
  createClient({
    url,
    key,
    fetch: async (...request) => {
      try {
        return await fetch(...request)
      } catch (cause) {
        throw new NotRunning(
          `nothing responds at ${url}: start the program with npm start, or name its address with --url`,
          { cause },
        )
      }
    },
  })

/**
 * Checks the program before an import: rejects if no file could be imported. Rejects for a key that has only the scope
 * `write`, because a repeated import must read stored messages.
 */
export async function requireRights(client: Client): Promise<void> {
  try {
    await withRetries(() => client.listSessions({ limit: 1 }))
  } catch (error) {
    // Any other error occurs again for each file, and is reported there.
    if (error instanceof NotRunning || isForAll(error)) throw error
  }
}

export interface Uploaded {
  /** Number of new messages. */
  readonly messages: number
  /**
   * Set if messages of the file have changed since an earlier import: the place of the first changed message, and the
   * new session with the current conversation.
   */
  readonly changed?: FilePlace & { readonly session: string }
}

/**
 * Imports a conversation into its session. Skips messages that the session already has, even after an interrupted
 * import. Retries while the program rejects the import temporarily. Rejects with `NotRunning`, or an `ApiProblem`.
 */
export const upload = (client: Client, source: string, session: FileSession, owner?: string): Promise<Uploaded> =>
  withRetries(() => uploadOnce({ client, source, owner }, session))

/** Retries while the program rejects the work temporarily. */
async function withRetries<Result>(work: () => Promise<Result>): Promise<Result> {
  for (let attempt = 1; ; attempt++)
    try {
      return await work()
    } catch (error) {
      if (!(error instanceof ApiProblem) || !FOR_NOW.has(error.status) || attempt === ATTEMPTS) throw error
      await sleep(error.retryAfterMs ?? WAIT_MS)
    }
}

interface Way {
  readonly client: Client
  readonly source: string
  readonly owner: string | undefined
}

async function uploadOnce(way: Way, file: FileSession, partedAt?: CountedMessage): Promise<Uploaded> {
  const { client, source, owner } = way
  const isNew = await create(client, file, owner)
  const changed = isNew && partedAt !== undefined && !file.isLog && { ...placeOf(partedAt), session: file.id }
  if (isNew) return { messages: await sendFrom(way, file, { there: 0 }), ...(changed && { changed }) }
  const there = await storedOf(client, source, file)
  const found = await seen(client.readSession(file.id))
  const known = file.earlier === undefined ? 0 : storedEarlier(found.metadata[PARSER])
  const { session, dropped } = continueEarlier(file, known ?? there)
  if (known !== undefined && isAsBefore(session, there, found.metadata)) return { messages: 0 }
  const { parted, isNext, late } = await compare(client, session, there)
  if (parted !== undefined && !isNext) {
    const branch = branchAt(source, file, parted)
    return uploadOnce({ ...way, source: branch.source }, branch.session, parted)
  }
  let messages = 0
  if (known === undefined) {
    // The inputs are sent first. If the import is interrupted before the session names its parser, the next import
    // repeats both steps.
    messages += await sendDropped(way, session, dropped)
    await nameParser(way, session, there)
  }
  // Late results are sent before the other messages, because the model's answer must follow the result on which it is
  // based.
  for (const result of late) messages += await sendLate(way, session, result)
  messages += await sendFrom(way, session, { there, ...(parted && { before: there - parted.place }) })
  return { messages }
}

/**
 * Returns true only if the file certainly has nothing new for its session. Does not read the session's messages for
 * this.
 */
function isAsBefore({ isLog, messages, stored, metadata }: FileSession, there: number, known: Metadata): boolean {
  const isSame = there === stored && plainFile(known) === plainFile(metadata)
  // The last message may be the result of a call that was closed earlier. Then the session's messages must be read.
  return isLog && isSame && messages.at(-1)?.call === undefined
}

const plainFile = ({ file }: Metadata): unknown => (typeof file === 'string' ? plainPath(file) : undefined)

type Metadata = { readonly [name: string]: unknown }

/**
 * Sends the messages after the first `there`. `before`: number of stored messages that the file has lost at its
 * beginning.
 */
async function sendFrom(
  { client, source }: Way,
  session: FileSession,
  { there, before = 0 }: { readonly there: number; readonly before?: number },
): Promise<number> {
  const { id, format, messages, stored } = session
  if (there - before >= stored) return 0
  const first = firstToSend(messages, there - before)
  const sent = messages.slice(Math.max(first, 0))
  const from = before + (first < 0 ? 0 : (sent[0]?.place ?? 0))
  const lines = linesOf([sessionLineOf(session), ...sent.map(({ value }) => value)])
  const imported = await seen(client.importMessages(id, lines, { format, source, from }))
  return imported.messages
}

/** Appends the inputs that an earlier parser dropped, as one round. A repetition has no further effect. */
async function sendDropped({ client, source }: Way, { id, format }: FileSession, dropped: readonly FileMessage[]) {
  if (dropped.length === 0) return 0
  const lines = linesOf(dropped.map(({ value }) => value))
  const imported = await seen(client.importMessages(id, lines, { format, source: `${source}#parser-2`, from: 0 }))
  return imported.messages
}

/**
 * Records in the session that the newest parser continues after the first `stored` messages, which an earlier parser
 * stored.
 */
async function nameParser({ client, source }: Way, { id, format }: FileSession, stored: number): Promise<void> {
  const lines = linesOf([{ object: 'session', metadata: { [PARSER]: parserAfter(stored) } }])
  await seen(client.importMessages(id, lines, { format, source, from: 0 }))
}

/** Sends a result whose call is stored as `interrupted`. A repetition has no further effect. */
async function sendLate({ client, source }: Way, { id, format }: FileSession, late: CountedMessage): Promise<number> {
  if (late.call === undefined) return 0
  const lines = linesOf(lateRound(late.call, late.value))
  const own = `${source}#late-${late.place}`
  const imported = await seen(client.importMessages(id, lines, { format, source: own, from: 0 }))
  return imported.messages
}

/**
 * Returns the index of the first message to send: the start of the turn that the new messages continue. If the new
 * messages name rows of an earlier turn, returns the start of that turn.
 */
function firstToSend(messages: FileSession['messages'], there: number): number {
  const news = messages.filter(({ place }) => place >= there)
  const named = new Set(news.flatMap(({ value }) => rowsNamedBy(value)))
  const call = messages.find(({ place, value: { id } }) => place < there && id !== undefined && named.has(id))
  const from = call?.place ?? there
  return messages.findLastIndex(({ beginsTurn, place }) => beginsTurn && place <= from)
}

/**
 * Returns the rows that a message names. A member's message names its delegate call, and a completion names the results
 * whose sources it numbers.
 */
function rowsNamedBy({ parent_message_id: parent, numbered }: JsonObject): unknown[] {
  const results = Array.isArray(numbered) ? numbered.filter(isRecord).map((one) => one['message_id']) : []
  return [parent, ...results].filter((row) => row !== undefined)
}

/** Updates the session's title and metadata. Returns the number of messages that the session has from this source. */
async function storedOf(client: Client, source: string, session: FileSession): Promise<number> {
  const { id, format } = session
  const lines = linesOf([sessionLineOf(session)])
  const { total = 0 } = await seen(client.importMessages(id, lines, { format, source, from: 0 }))
  return total
}

/**
 * Returns the session line that precedes the messages. It omits `file`, so the session keeps the file that it was
 * created from.
 */
function sessionLineOf({ title, titleSource = 'agent', metadata }: FileSession): JsonObject {
  const { file: _, ...rest } = metadata
  return { object: 'session', ...(title === undefined ? {} : { title, title_source: titleSource }), metadata: rest }
}

/** Creates the session. Returns false if it existed. */
async function create(client: Client, session: FileSession, owner?: string): Promise<boolean> {
  const { id, instructions } = session
  const metadata = { ...session.metadata, ...(session.earlier && { [PARSER]: parserAfter(0) }) }
  try {
    await client.createSession({
      id,
      metadata: metadata as { readonly [name: string]: ApiJson },
      ...definedFields({ instructions, owner }),
    })
    return true
  } catch (error) {
    if (error instanceof ApiProblem && error.code === 'session_exists') return false
    throw error
  }
}

/**
 * Awaits the response, and explains the error `session_not_found`. The error means that the session's id cannot be used
 * for a new session. Either a session of another owner has the id, or a session with the id was deleted less than 30 days
 * ago.
 */
async function seen<Response>(response: Promise<Response>): Promise<Response> {
  try {
    return await response
  } catch (error) {
    if (!(error instanceof ApiProblem) || error.code !== 'session_not_found') throw error
    const { instance } = error.problem
    const detail = `session ${instance.split('/')[3]} belongs to another owner, or was deleted less than 30 days ago: its id cannot be used`
    throw new ApiProblem({ ...error.problem, detail }, undefined)
  }
}

function linesOf(values: readonly JsonObject[]): ReadableStream<Uint8Array> {
  let at = 0
  return new ReadableStream({
    pull(controller) {
      let text = ''
      while (at < values.length && text.length < PIECE) text += `${JSON.stringify(values[at++])}\n`
      if (text === '') controller.close()
      else controller.enqueue(Buffer.from(text))
    },
  })
}
