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
  const give = (message: Parameters<typeof messageText>[0]): void => {
    if (json) printJson(message)
    else print(`${messageText(message)}\n`)
  }
  if (limit !== undefined) {
    const { data, has_more } = await client.listMessages(session, { order: 'desc', limit })
    if (has_more && !json) note('Earlier messages are left out; without --limit all are shown.\n')
    return data.toReversed().forEach(give)
  }
  for (let after: string | undefined; ;) {
    const page = await client.listMessages(session, { limit: PAGE, ...(after === undefined ? {} : { after }) })
    page.data.forEach(give)
    if (page.next === null) return
    after = page.next
  }
}
