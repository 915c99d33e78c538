import { MAX_PAGE_BYTES } from '../../log/page-bytes.ts'
import { others } from '../streaming/document-queue.ts'
import { jsonText } from '../../log/json/well-formed.ts'

/** Bytes of entries after which the event loop serves other requests. */
const AT_A_TIME = 1024 * 1024

/** The entries of a page as JSON. */
export interface PageEntries {
  readonly texts: readonly string[]
  readonly bytes: number
}

/**
 * Builds the first entries that fit into `mostBytes`, at least one. Each entry is built only if the previous ones fit.
 */
export async function entriesOf<Entry>(
  entries: readonly Entry[],
  make: (entry: Entry) => Promise<unknown>,
  mostBytes = MAX_PAGE_BYTES,
): Promise<PageEntries> {
  const texts: string[] = []
  let bytes = 0
  let since = 0
  for (const entry of entries) {
    const text = jsonText(await make(entry))
    const length = Buffer.byteLength(text) + 1
    if (texts.length > 0 && bytes + length > mostBytes) break
    texts.push(text)
    bytes += length
    since += length
    if (since < AT_A_TIME) continue
    since = 0
    await others()
  }
  return { texts, bytes }
}

/** A page as JSON bytes. */
export const pageBytes = (
  entries: PageEntries,
  next: string | null,
  hasMore = next !== null,
): Uint8Array<ArrayBuffer> => listBytes(HEAD, entries, `],"next":${jsonText(next)},"has_more":${hasMore}}`)

/** A page that can be continued on both sides, as JSON bytes. */
export function windowBytes(entries: PageEntries, previous: string | null, next: string | null) {
  const sides = `"previous":${jsonText(previous)},"next":${jsonText(next)}`
  return listBytes(HEAD, entries, `],${sides},"has_more":${next !== null}}`)
}

const HEAD = '{"object":"list","data":['

/** Entries as the bytes of a JSON list, between a head and a tail. */
export function listBytes(head: string, { texts, bytes }: PageEntries, tail: string): Uint8Array<ArrayBuffer> {
  const page = Buffer.allocUnsafe(Buffer.byteLength(head) + bytes + Buffer.byteLength(tail))
  let at = page.write(head)
  for (const [place, text] of texts.entries()) {
    if (place > 0) at += page.write(',', at)
    at += page.write(text, at)
  }
  at += page.write(tail, at)
  return page.subarray(0, at)
}
