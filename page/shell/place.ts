import { createStore, useStore } from './store.ts'

/** The address of a view, without the prefix of the page's paths. */
export interface Place {
  readonly path: string
  readonly query: URLSearchParams
  /** The fragment without `#`. */
  readonly fragment: string
  /**
   * Whether a key opened this view. Pressing the key again opens the next view. So no field may take the focus, because
   * the field would receive the key.
   */
  readonly stepped: boolean
}

const base = new URL('.', document.baseURI)

/** Returns an address for links. It works even if the program is not at the root of its host. */
export const href = (path: string): string => base.pathname + path.replace(/^\//, '')

/** Decodes a part of an address; a malformed part is unchanged. */
export function decoded(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}

const placeOf = ({ pathname, search, hash }: Location | URL, stepped = false): Place => ({
  path: `/${pathname.slice(base.pathname.length)}`,
  query: new URLSearchParams(search),
  fragment: decoded(hash.slice(1)),
  stepped,
})

const place = createStore(placeOf(location))

export const usePlace = (): Place => useStore(place)

/** Whether a view of this session is shown. */
export const isAt = (session: string): boolean =>
  place.get().path.startsWith('/sessions/') && place.get().path.split('/')[2] === encodeURIComponent(session)

/** Shows another view. `replace`: the browser's history keeps no entry for the previous view. */
export function go(path: string, { replace = false, stepped = false } = {}): void {
  const to = href(path)
  if (replace) history.replaceState(null, '', to)
  else history.pushState(null, '', to)
  place.set(placeOf(location, stepped))
}

const OWN = /^\/(?:$|new$|search$|usage$|sessions\/)/

/** Handles clicks on links to views of the page. All other clicks keep their usual effect. */
export function followLinks(): void {
  addEventListener('popstate', () => place.set(placeOf(location)))
  addEventListener('click', (event) => {
    const link = event.target instanceof Element ? event.target.closest('a') : null
    if (
      link === null ||
      event.defaultPrevented ||
      event.button !== 0 ||
      link.target !== '' ||
      link.hasAttribute('download')
    )
      return
    if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return
    const to = new URL(link.href)
    if (to.origin !== base.origin || !to.pathname.startsWith(base.pathname) || !OWN.test(placeOf(to).path)) return
    event.preventDefault()
    go(placeOf(to).path + to.search + to.hash)
  })
}
