import { sha256 } from '../../domain/hash.ts'
import type { Client } from '../../client/client.ts'
import { digestOfStored, type Digest } from './digests.ts'
import type { FileSession } from './sessions-of-file.ts'

/** Messages of a request. */
const PAGE = 200

type Message = FileSession['messages'][number]

/** What a session has of the messages that its file should have in common with it. */
export interface Compared {
  /** The first that it does not have: the file goes another way than what was imported before. */
  readonly parted: Message | undefined
  /** It comes right behind all that the session has: the file has lost messages of its beginning. */
  readonly isNext: boolean
  /** Results that came after their calls had been closed as `interrupted`. */
  readonly late: readonly Message[]
}

/** Compares the first messages of a file, as many as are `there`, with its session. */
export async function compare(client: Client, session: FileSession, there: number): Promise<Compared> {
  const stored = createStored()
  let after: string | undefined
  do {
    const page = await client.listMessages(session.id, { limit: PAGE, ...(after !== undefined && { after }) })
    for (const message of page.data) stored.add(digestOfStored(message, session.isLog))
    after = page.next ?? undefined
  } while (after !== undefined)
  const late: Message[] = []
  let before: Message | undefined
  for (const message of session.messages.filter(({ place }) => place < there)) {
    const found = stored.take(message.digest, session.isLog)
    if (found === 'none') return { parted: message, isNext: !session.isLog && stored.isNewest(before?.digest), late }
    if (found === 'late') late.push(message)
    before = message
  }
  return { parted: undefined, isNext: false, late }
}

/**
 * The messages of a session, of which each is found once. Their order does not count: results, and what sub-agents wrote, stand
 * elsewhere in a file that has grown.
 */
function createStored() {
  const counts = new Map<string, number>()
  const calls = new Set<string>()
  let newest: Digest | undefined
  const add = (key: string): unknown => counts.set(key, (counts.get(key) ?? 0) + 1)
  const take = (key: string): boolean => {
    const count = counts.get(key) ?? 0
    if (count > 0) counts.set(key, count - 1)
    return count > 0
  }
  return {
    add(digest: Digest): void {
      add(keyOf(digest))
      if (digest.at !== undefined) add(keyOf({ ...digest, at: undefined }))
      if (digest.call !== undefined) calls.add(digest.call)
      newest = digest
    },
    take(digest: Digest, isLog: boolean): 'there' | 'late' | 'none' {
      if (take(keyOf(digest))) return 'there'
      const { call } = digest
      if (call === undefined || !calls.has(call)) return 'none'
      // Its program has not said yet how it ended: the session may know more.
      if (!hasResult(digest)) return 'there'
      if (take(interrupted(call))) return 'late'
      return isLog ? 'there' : 'none'
    },
    isNewest: (digest: Digest | undefined): boolean =>
      digest !== undefined && newest !== undefined && digest.call === newest.call && digest.text === newest.text,
  }
}

const hasResult = ({ status }: Digest): boolean => status === 'completed' || status === 'error'

const keyOf = ({ call, status, text, at }: Omit<Digest, 'at'> & { readonly at?: string | undefined }): string => {
  if (call === undefined) return `${text} ${at}`
  return status === 'interrupted' ? interrupted(call) : JSON.stringify([call, text])
}

const interrupted = (call: string): string => JSON.stringify([call])

/** The conversation of such a file: the whole of it, in a session that is named after the message at which it parts. */
export function branchAt(source: string, session: FileSession, { digest }: Message) {
  const mark = sha256(JSON.stringify(digest)).slice(0, 8)
  const metadata = { ...session.metadata, branch_of: session.id }
  return { source: `${source}#${mark}`, session: { ...session, id: `${session.id.slice(0, 119)}-${mark}`, metadata } }
}
