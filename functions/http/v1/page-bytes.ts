/** Bytes of JSON after which a page ends, with one entry at least; `next` goes on. No page has room for more characters. */
export const MOST_BYTES = 4 * 1024 * 1024
/** As many of the entries, from the first, as a page has room for. */
export function fitting<Entry>(entries: readonly Entry[]): Entry[] {
  let bytes = 0
  const end = entries.findIndex((entry, place) => {
    bytes += Buffer.byteLength(JSON.stringify(entry)) + 1
    return place > 0 && bytes > MOST_BYTES
  })
  return end === -1 ? [...entries] : entries.slice(0, end)
}
