import type { Message } from '../../client/api-types.ts'
import type { Client } from '../../client/client.ts'
import { messageText } from '../message-text.ts'
import { note, print, printJson } from '../terminal.ts'

export interface ShowOptions {
  /** The newest so many messages; absent: all. */
  readonly limit?: number
  readonly json?: boolean
}

const PAGE = 100

/** Shows the messages of a session, the oldest first, a page at a time. */
export async function show(client: Client, session: string, { limit, json = false }: ShowOptions): Promise<void> {
  if (limit !== undefined) return void (await showNewest(client, session, { limit, json }))
  for (let after: string | undefined; ;) {
    const page = await client.listMessages(session, { limit: PAGE, ...(after === undefined ? {} : { after }) })
    for (const message of page.data) give(message, json)
    if (page.next === null) return
    after = page.next
  }
}

/** Shows so many of the newest messages of a session, and returns them, the oldest first. */
export async function showNewest(
  client: Client,
  session: string,
  { limit, json }: { readonly limit: number; readonly json: boolean },
): Promise<Message[]> {
  const { data, has_more } = await client.listMessages(session, { order: 'desc', limit })
  if (has_more && !json) note('Earlier messages are left out; without --limit all are shown.\n')
  const messages = data.toReversed()
  for (const message of messages) give(message, json)
  return messages
}

function give(message: Message, json: boolean): void {
  if (json) printJson(message)
  else print(`${messageText(message)}\n`)
}
