import { setTimeout as sleep } from 'node:timers/promises'
import type { FileSession } from './sessions-of-file.ts'

export interface Target {
  /** Without a slash at the end. */
  readonly url: string
  readonly key?: string | undefined
}

/** The program is not running, or does not respond. */
export class NotRunning extends Error {
  override readonly name = 'NotRunning'
}

/** The program refused something; the message says what. */
export class Refused extends Error {
  override readonly name = 'Refused'
  /** Milliseconds after which the same may be sent again; undefined: it would be refused again. */
  readonly againAfter: number | undefined

  constructor(message: string, againAfter?: number) {
    super(message)
    this.againAfter = againAfter
  }
}

/** Characters of lines that are made at a time. */
const PIECE = 256 * 1024
/** How often a conversation is sent to a program that cannot take it for now. */
const ATTEMPTS = 5
const FOR_NOW = new Set([429, 503])
const WAIT_MS = 1_000

/**
 * Brings a conversation into its session: what is there already is skipped, whatever the last import left. Returns how many
 * messages are new. Tries again where the program cannot take it for now.
 */
export async function upload(target: Target, source: string, session: FileSession, owner?: string): Promise<number> {
  for (let attempt = 1; ; attempt++)
    try {
      return await uploadOnce(target, source, session, owner)
    } catch (error) {
      if (!(error instanceof Refused) || error.againAfter === undefined || attempt === ATTEMPTS) throw error
      await sleep(error.againAfter)
    }
}

async function uploadOnce(
  target: Target,
  source: string,
  session: FileSession,
  owner: string | undefined,
): Promise<number> {
  const isNew = await create(target, session, owner)
  if (!isNew && session.title !== undefined) await giveTitle(target, session.id, session.title)
  const there = isNew ? 0 : await storedOf(target, source, session)
  if (there >= session.stored) return 0
  const first = firstToSend(session.messages, there)
  const messages = session.messages.slice(Math.max(first, 0))
  const from = first < 0 ? 0 : (messages[0]?.place ?? 0)
  const query = new URLSearchParams({ format: session.format, source, from: String(from) })
  return (await post(target, session.id, linesOf(messages), 'application/x-ndjson', `?${query.toString()}`)).messages
}

/** Where the turn begins that goes on, or one before it whose delegate calls the new messages name. */
function firstToSend(messages: FileSession['messages'], there: number): number {
  const news = messages.filter(({ place }) => place >= there)
  const named = new Set(news.flatMap(({ value: { parent_message_id: row } }) => (row === undefined ? [] : [row])))
  const call = messages.find(({ place, value: { id } }) => place < there && id !== undefined && named.has(id))
  const from = call?.place ?? there
  return messages.findLastIndex(({ beginsTurn, place }) => beginsTurn && place <= from)
}

/** How many messages of this source the session has. */
async function storedOf(target: Target, source: string, { id, format }: FileSession): Promise<number> {
  const body = JSON.stringify({ format, source, from: 0, messages: [] })
  return (await post(target, id, body, 'application/json')).total
}

/** Returns whether the session is new. */
async function create(
  target: Target,
  { id, title, instructions, metadata }: FileSession,
  owner?: string,
): Promise<boolean> {
  const body = JSON.stringify({ id, title, instructions, metadata, owner })
  const response = await request(target, '/v1/sessions', {
    method: 'POST',
    body,
    headers: { 'content-type': 'application/json' },
  })
  if (!response.ok && response.status !== 409) throw await refusalOf(response)
  await response.body?.cancel()
  return response.ok
}

/** It could not be made, because it is there. */
const unseen = (id: string): string =>
  `session ${id} belongs to somebody else, or was deleted less than 30 days ago: its id cannot be used`

/** A session may be named long after it began: it gets its title unless it has one. */
async function giveTitle(target: Target, id: string, title: string): Promise<void> {
  const path = `/v1/sessions/${id}`
  const found = await request(target, path, {})
  if (found.status === 404) throw new Refused(unseen(id))
  if (!found.ok) throw await refusalOf(found)
  if (((await found.json()) as { readonly title: string | null }).title !== null) return
  const headers = { 'content-type': 'application/json' }
  const response = await request(target, path, { method: 'PATCH', body: JSON.stringify({ title }), headers })
  if (!response.ok) throw await refusalOf(response)
  await response.body?.cancel()
}

interface Imported {
  readonly messages: number
  readonly total: number
}

async function post(
  target: Target,
  session: string,
  body: string | ReadableStream<Uint8Array>,
  type: string,
  query = '',
): Promise<Imported> {
  const init = { method: 'POST', body, headers: { 'content-type': type }, duplex: 'half' } as const
  const response = await request(target, `/v1/sessions/${session}/import${query}`, init)
  if (response.status === 404) throw new Refused(unseen(session))
  if (!response.ok) throw await refusalOf(response)
  return (await response.json()) as Imported
}

async function request(target: Target, path: string, init: RequestInit & { duplex?: 'half' }): Promise<Response> {
  const authorization = target.key === undefined ? {} : { authorization: `Bearer ${target.key}` }
  try {
    return await fetch(target.url + path, { ...init, headers: { ...init.headers, ...authorization } })
  } catch (cause) {
    throw new NotRunning(
      `nothing responds at ${target.url}: start the program with npm start, or name its address with --url`,
      { cause },
    )
  }
}

async function refusalOf(response: Response): Promise<Refused> {
  const text = await response.text()
  const seconds = Number(response.headers.get('retry-after') ?? Number.NaN)
  const wait = Number.isFinite(seconds) ? seconds * 1_000 : WAIT_MS
  const againAfter = FOR_NOW.has(response.status) ? wait : undefined
  try {
    const problem = JSON.parse(text) as { readonly detail?: string }
    return new Refused(problem.detail ?? text.slice(0, 300), againAfter)
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error
    return new Refused(`${response.status} ${text.slice(0, 300)}`, againAfter)
  }
}

function linesOf(messages: FileSession['messages']): ReadableStream<Uint8Array> {
  let at = 0
  return new ReadableStream({
    pull(controller) {
      let text = ''
      while (at < messages.length && text.length < PIECE) text += `${JSON.stringify(messages[at++]?.value)}\n`
      if (text === '') controller.close()
      else controller.enqueue(Buffer.from(text))
    },
  })
}
