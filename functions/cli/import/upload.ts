import { setTimeout as sleep } from 'node:timers/promises'
import { createClient } from '../../client/client.ts'
import type { Client } from '../../client/client.ts'
import { ApiProblem } from '../../client/problem.ts'
import { definedFields } from '../../domain/defined-fields.ts'
import { branchAt, compare } from './branches.ts'
import type { FileSession } from './sessions-of-file.ts'

export interface Target {
  readonly url: string
  readonly key?: string | undefined
}

/** The program is not running, or does not respond. */
export class NotRunning extends Error {
  override readonly name = 'NotRunning'
}

/** Whether the program, or whatever responds there, would refuse every other conversation, too. */
export const isForAll = (error: unknown): boolean =>
  error instanceof ApiProblem &&
  (error.status === 401 || error.status === 403 || error.code === 'unexpected_response' || error.code === 'not_found')

/** Characters of lines that are made at a time. */
const PIECE = 256 * 1024
/** How often a conversation is sent to a program that cannot take it for now. */
const ATTEMPTS = 5
const FOR_NOW = new Set([429, 503])
const WAIT_MS = 1_000

/** A client of the program; its requests reject with `NotRunning` where nothing responds. */
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

export interface Uploaded {
  /** How many messages are new. */
  readonly messages: number
  /** Results that are left out, because their calls had been taken as `interrupted`: they have the lines of their file. */
  readonly late: FileSession['messages']
}

/**
 * Brings a conversation into its session: what is there already is skipped, whatever the last import left. Tries again where the
 * program cannot take it for now. Rejects with `NotRunning`, or an `ApiProblem`.
 */
export async function upload(client: Client, source: string, session: FileSession, owner?: string): Promise<Uploaded> {
  for (let attempt = 1; ; attempt++)
    try {
      return await uploadOnce(client, source, session, owner)
    } catch (error) {
      if (!(error instanceof ApiProblem) || !FOR_NOW.has(error.status) || attempt === ATTEMPTS) throw error
      await sleep(error.retryAfterMs ?? WAIT_MS)
    }
}

async function uploadOnce(
  client: Client,
  source: string,
  session: FileSession,
  owner: string | undefined,
): Promise<Uploaded> {
  const isNew = await create(client, session, owner)
  const there = isNew ? 0 : await storedOf(client, source, session)
  let late: FileSession['messages'] = []
  if (!isNew) {
    const found = await seen(client.readSession(session.id))
    const { title } = session
    if (title !== undefined && found.title === null) await client.changeSession(session.id, { title })
    const isAsBefore = there === session.stored && found.metadata['file'] === session.metadata['file']
    const compared = session.isLog && !isAsBefore ? await compare(client, session, there) : undefined
    if (compared?.parted !== undefined) {
      const branch = branchAt(source, session, compared.parted)
      return uploadOnce(client, branch.source, branch.session, owner)
    }
    late = compared?.late ?? []
  }
  if (there >= session.stored) return { messages: 0, late }
  const first = firstToSend(session.messages, there)
  const messages = session.messages.slice(Math.max(first, 0))
  const from = first < 0 ? 0 : (messages[0]?.place ?? 0)
  const lines = linesOf(messages)
  const imported = await seen(client.importMessages(session.id, lines, { format: session.format, source, from }))
  return { messages: imported.messages, late }
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
async function storedOf(client: Client, source: string, { id, format }: FileSession): Promise<number> {
  const { total = 0 } = await seen(client.importMessages(id, '\n', { format, source, from: 0 }))
  return total
}

/** Returns whether the session is new. */
async function create(client: Client, session: FileSession, owner?: string): Promise<boolean> {
  const { id, title, instructions, metadata } = session
  try {
    await client.createSession({ id, metadata, ...definedFields({ title, instructions, owner }) })
    return true
  } catch (error) {
    if (error instanceof ApiProblem && error.code === 'session_exists') return false
    throw error
  }
}

/** Says why a session that could not be made, because it is there, is not there. */
async function seen<Response>(response: Promise<Response>): Promise<Response> {
  try {
    return await response
  } catch (error) {
    if (!(error instanceof ApiProblem) || error.code !== 'session_not_found') throw error
    const { instance } = error.problem
    const detail = `session ${instance.split('/')[3]} belongs to somebody else, or was deleted less than 30 days ago: its id cannot be used`
    throw new ApiProblem({ ...error.problem, detail }, undefined)
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
