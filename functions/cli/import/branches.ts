import { sha256 } from '../../domain/hash.ts'
import type { Client } from '../../client/client.ts'
import { digestOfStored, type Digest } from './digests.ts'
import type { FileSession } from './sessions-of-file.ts'

/** Messages in one request. */
const PAGE = 200

type Message = FileSession['messages'][number]

/** The result of comparing a file with its session. */
export interface Compared {
  /**
   * The first of the compared messages that the session does not have. If `isNext` is false, the file has changed since
   * the earlier import.
   */
  readonly parted: Message | undefined
  /**
   * Whether the message before `parted` is the session's newest message. If so, the file still continues the session,
   * but has lost messages at its beginning.
   */
  readonly isNext: boolean
  /** Results that arrived after their calls had been closed as `interrupted`. */
  readonly late: readonly Message[]
}

/** Compares the first `there` messages of a file with its session. */
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
 * The stored messages of a session. Each of them can match one message of the file. The order is ignored: in a file
 * that has grown, results and messages of sub-agents may be at another position.
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
      const { rounded } = digest
      if (rounded !== undefined && take(keyOf({ ...digest, text: rounded }))) return 'there'
      const { call } = digest
      if (call === undefined || !calls.has(call)) return 'none'
      // The file has no result for the call yet, but the session may have one.
      if (!hasResult(digest)) return 'there'
      if (take(interrupted(call))) return 'late'
      return isLog ? 'there' : 'none'
    },
    isNewest: (digest: Digest | undefined): boolean =>
      digest !== undefined &&
      newest !== undefined &&
      digest.call === newest.call &&
      [digest.text, digest.rounded].includes(newest.text),
  }
}

const hasResult = ({ status }: Digest): boolean => status === 'completed' || status === 'error'

const keyOf = ({ call, status, text, at }: Omit<Digest, 'at'> & { readonly at?: string | undefined }): string => {
  if (call === undefined) return `${text} ${at}`
  return status === 'interrupted' ? interrupted(call) : JSON.stringify([call, text])
}

const interrupted = (call: string): string => JSON.stringify([call])

/**
 * Returns a changed file's whole conversation for a new session. The new session's id contains a hash of the first
 * different message.
 */
export function branchAt(source: string, session: FileSession, { digest }: Message) {
  const mark = sha256(JSON.stringify({ ...digest, rounded: undefined })).slice(0, 8)
  const metadata = { ...session.metadata, branch_of: session.id }
  return { source: `${source}#${mark}`, session: { ...session, id: `${session.id.slice(0, 119)}-${mark}`, metadata } }
}
