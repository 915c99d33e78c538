import { definedFields } from '../domain/defined-fields.ts'
import { Failed } from './input.ts'

interface Page<Entry> {
  readonly data: readonly Entry[]
  readonly next: string | null
}

interface Wanted<Entry> {
  /** Maximum number of entries to read. */
  readonly limit: number
  /** The id of an entry. Reading starts with the entry that follows it. */
  readonly after?: string | undefined
  readonly idOf: (entry: Entry) => string
  /** The API's limit for one page. */
  readonly pageSize: number
  /** Ends the reading. The signal aborts when the program that reads the output has closed the output. */
  readonly signal: AbortSignal
  readonly read: (query: { readonly limit: number; readonly after?: string }) => Promise<Page<Entry>>
}

/** Reads a list page by page, and passes the entries to `take`. Returns whether more entries follow. */
export async function readPages<Entry>(wanted: Wanted<Entry>, take: (entry: Entry) => void): Promise<boolean> {
  const { limit, after, idOf, pageSize, signal, read } = wanted
  let isFound = after === undefined
  let left = limit
  let cursor: string | undefined
  while (!signal.aborted) {
    const size = isFound ? Math.min(pageSize, left) : pageSize
    const page = await read({ limit: size, ...definedFields({ after: cursor }) })
    for (const entry of page.data) {
      if (isFound && left === 0) return true
      if (isFound) {
        take(entry)
        left--
      }
      isFound ||= idOf(entry) === after
    }
    if (page.next === null) break
    if (isFound && left === 0) return true
    cursor = page.next
  }
  if (!isFound && !signal.aborted)
    throw new Failed(`There is no entry ${after} in this list. --after takes the id of an entry of the same list.`)
  return false
}
