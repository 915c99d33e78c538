import { createHash } from 'node:crypto'
import type { Client } from '../../client/client.ts'
import type { FileSession } from './sessions-of-file.ts'

/** Messages of a request. */
const PAGE = 200
/** Characters of a message's text. */
const MARK = 200

type Message = FileSession['messages'][number]

/** What a session has of the messages that its file should have in common with it. */
export interface Compared {
  /** The first that it does not have: the file is a copy that went another way than the one that was imported before. */
  readonly parted: Message | undefined
  /** Results that came after their calls had been closed as `interrupted`. */
  readonly late: readonly Message[]
}

/** Compares the first messages of a file, as many as are `there`, with its session. */
export async function compare(client: Client, session: FileSession, there: number): Promise<Compared> {
  const known = new Set<string>()
  /** The status of each result, by its call. */
  const results = new Map<string, string>()
  let after: string | undefined
  do {
    const page = await client.listMessages(session.id, { limit: PAGE, ...(after !== undefined && { after }) })
    for (const message of page.data) {
      known.add(markOf(message)).add(markOf({ ...message, created_at: undefined }))
      if (message.role === 'tool') results.set(markOf(message), String(message.status))
    }
    after = page.next ?? undefined
  } while (after !== undefined)
  const common = session.messages.filter(({ place }) => place < there)
  return {
    parted: common.find(({ value }) => !known.has(markOf(value))),
    late: common.filter(({ value }) => hasResult(value) && results.get(markOf(value)) === 'interrupted'),
  }
}

const hasResult = ({ status }: Message['value']): boolean => status === 'completed' || status === 'error'

/** The conversation of such a copy: the whole of it, in a session that is named after the message at which it parts. */
export function branchAt(source: string, session: FileSession, { value }: Message) {
  const mark = createHash('sha256').update(markOf(value)).digest('hex').slice(0, 8)
  const metadata = { ...session.metadata, branch_of: session.id }
  return { source: `${source}#${mark}`, session: { ...session, id: `${session.id.slice(0, 119)}-${mark}`, metadata } }
}

/** What tells a message from the others of its conversation, and from itself before it had grown. */
function markOf(message: { readonly [field: string]: unknown }): string {
  const { role, tool_call_id: call, created_at: at, parts, tool_calls: calls } = message
  if (role === 'tool') return `tool ${String(call)}`
  const texts = Array.isArray(parts) ? parts.flatMap((part: { text?: string }) => part.text ?? []) : []
  const counts = `${texts.length} ${Array.isArray(calls) ? calls.length : 0}`
  return `${String(role)} ${String(at)} ${counts} ${(texts[0] ?? '').slice(0, MARK)}`
}
