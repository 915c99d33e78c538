/** Bytes of JSON after which a page ends; it has at least one entry, and `next` goes on. No page holds more characters. */
export const MAX_PAGE_BYTES = 4 * 1024 * 1024

/** As many of the first entries as a page of `most` bytes of JSON has room for; at least one. */
export function fitting<Entry>(entries: readonly Entry[], most = MAX_PAGE_BYTES): Entry[] {
  let bytes = 0
  const end = entries.findIndex((entry, place) => {
    bytes += Buffer.byteLength(JSON.stringify(entry)) + 1
    return place > 0 && bytes > most
  })
  return end === -1 ? [...entries] : entries.slice(0, end)
}
