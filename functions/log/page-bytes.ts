/**
 * Maximum bytes of JSON in a page. This also limits the page's characters. A page has at least one entry. Entries that do not fit
 * are on the next page.
 */
export const MAX_PAGE_BYTES = 4 * 1024 * 1024

/** Returns the first entries that fit a page of `most` bytes of JSON, at least one. */
export function fitting<Entry>(entries: readonly Entry[], most = MAX_PAGE_BYTES): Entry[] {
  let bytes = 0
  const end = entries.findIndex((entry, place) => {
    bytes += Buffer.byteLength(JSON.stringify(entry)) + 1
    return place > 0 && bytes > most
  })
  return end === -1 ? [...entries] : entries.slice(0, end)
}
