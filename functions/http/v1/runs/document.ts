import type { Message } from '../../../domain/messages/message.ts'
import type { SessionKey } from '../../../domain/session.ts'
import { totalLength } from '../../../log/message-length.ts'
import { MAX_PAGE_BYTES } from '../../../log/page-bytes.ts'
import type { RouteDependencies } from '../../dependencies.ts'
import { entriesOf, listBytes } from '../page-entries.ts'
import { messageMaker } from '../messages/resource.ts'
import type { RunResource } from './resource.ts'
import { writeMessageCursor } from '../page-cursor.ts'
import { jsonText } from '../../../log/json/well-formed.ts'

const PAGE = 500
/**
 * Maximum length of the messages, in characters, for which a document is built at once. Longer documents are queued.
 */
const SHORT = 64 * 1024

interface Content {
  /** The run of the messages; for a merged run, the run that it was merged into. */
  readonly of: string
  /** The last message that the caller knows. */
  readonly since: string | undefined
  /** All messages of the run, if they are in memory. */
  readonly known: readonly Message[] | undefined
}

/**
 * Builds a run with its new messages as JSON bytes. The messages are limited like a page. If more messages follow,
 * `messages_next` is the cursor of the next page.
 */
export async function runDocument(
  { reader, builds }: Pick<RouteDependencies, 'reader' | 'builds'>,
  key: SessionKey,
  run: RunResource,
  { of, since, known }: Content,
): Promise<Uint8Array<ArrayBuffer>> {
  const find = async (most: number): Promise<Found> =>
    known === undefined ? newMessages(most) : { messages: known, more: false }
  const begin = await find(SHORT)
  if (!begin.more && totalLength(begin.messages) <= SHORT) return documentOf(begin)
  const name = jsonText(['run', key.session, since, run])
  return builds.build(key.tenant, name, async () => documentOf(await find(MAX_PAGE_BYTES)))

  async function newMessages(most: number): Promise<Found> {
    const found: Message[] = []
    for (let [after, charactersLeft] = [since, most]; ;) {
      const query = { run: of, order: 'ascending', limit: PAGE, mostCharacters: charactersLeft } as const
      const { messages, more } = await reader.messages(key, after === undefined ? query : { ...query, after })
      found.push(...messages)
      after = found.at(-1)?.id
      charactersLeft -= totalLength(messages)
      if (!more || charactersLeft <= 0) return { messages: found, more }
    }
  }

  async function documentOf({ messages, more }: Found): Promise<Uint8Array<ArrayBuffer>> {
    const entries = await entriesOf(messages, await messageMaker(reader, key, messages))
    const last = messages[entries.texts.length - 1]?.id
    const isCut = (more || entries.texts.length < messages.length) && last !== undefined
    const next = isCut ? `,"messages_next":${jsonText(writeMessageCursor('asc', last))}` : ''
    return listBytes(`${jsonText(run).slice(0, -1)},"messages":[`, entries, `]${next}}`)
  }
}

interface Found {
  readonly messages: readonly Message[]
  readonly more: boolean
}
