import { definedFields } from '../../domain/defined-fields.ts'
import type { Message } from '../../client/api-types.ts'
import type { Client } from '../../client/client.ts'
import { MISUSED } from '../../runtime/command.ts'
import { Failed } from '../input.ts'
import { messageText } from '../message-text.ts'
import { note, print, printJson } from '../terminal.ts'

export interface ShowOptions {
  /** The id of a message; only the messages around it are shown. */
  readonly around?: string
  /**
   * Maximum number of messages. By default, all messages are shown. With `around`, the API's default number is shown.
   */
  readonly limit?: number
  readonly json?: boolean
}

const PAGE = 100
const DEFAULT_AROUND = 20
/** The API's limit. */
const MAX_AROUND = 1_000

/** Shows the messages of a session, oldest first, page by page. */
export async function show(
  client: Client,
  session: string,
  { around, limit, json = false }: ShowOptions,
  signal: AbortSignal,
): Promise<void> {
  if (around !== undefined) return showAround(client, session, { around, limit: limit ?? DEFAULT_AROUND, json })
  if (limit !== undefined) return void (await showNewest(client, session, { limit, json }))
  for (let after: string | undefined; !signal.aborted;) {
    const page = await client.listMessages(session, { limit: PAGE, ...definedFields({ after }) })
    for (const message of page.data) give(message, json)
    if (page.next === null) return
    after = page.next
  }
}

async function showAround(
  client: Client,
  session: string,
  { around, limit, json }: { readonly around: string; readonly limit: number; readonly json: boolean },
): Promise<void> {
  if (limit > MAX_AROUND) throw new Failed(`--limit must be at most ${MAX_AROUND} with --around.`, MISUSED)
  const { data, previous, next } = await client.listMessages(session, { around, limit })
  for (const message of data) give(message, json)
  if (json) return
  const sides = [...(previous ? ['before'] : []), ...(next ? ['after'] : [])]
  if (sides.length > 0) note(`There is more ${sides.join(' and ')}: a larger --limit, or another --around, shows it.\n`)
}

/** Shows the newest messages of a session, at most `limit`, oldest first. Returns the shown messages. */
export async function showNewest(
  client: Client,
  session: string,
  { limit, json }: { readonly limit: number; readonly json: boolean },
): Promise<Message[]> {
  const newest: Message[] = []
  let after: string | undefined
  do {
    const size = Math.min(PAGE, limit - newest.length)
    const page = await client.listMessages(session, {
      order: 'desc',
      limit: size,
      ...definedFields({ after }),
    })
    newest.push(...page.data)
    after = page.next ?? undefined
  } while (after !== undefined && newest.length < limit)
  if (after !== undefined && !json) note('Earlier messages are left out; without --limit all are shown.\n')
  const messages = newest.toReversed()
  for (const message of messages) give(message, json)
  return messages
}

function give(message: Message, json: boolean): void {
  if (json) printJson(message)
  else print(`${messageText(message)}\n`)
}
