import { createStore, useStore } from './store.ts'

/** A view's address, without what precedes the page's own paths. */
export interface Place {
  readonly path: string
  readonly query: URLSearchParams
  /** Without `#`. */
  readonly fragment: string
  /** Whether a key led here that leads on when it is pressed again: no field is to take the focus. */
  readonly stepped: boolean
}

const base = new URL('.', document.baseURI)

/** An address that links may carry, also where the program is not at the root of its host. */
export const href = (path: string): string => base.pathname + path.replace(/^\//, '')

/** A part of an address in plain text; as it is where it is malformed. */
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

/** Whether a view of a session is shown. */
export const isAt = (session: string): boolean =>
  place.get().path.startsWith('/sessions/') && place.get().path.split('/')[2] === encodeURIComponent(session)

/** Shows another view. `replace`: the one before is not kept in the history. */
export function go(path: string, { replace = false, stepped = false } = {}): void {
  const to = href(path)
  if (replace) history.replaceState(null, '', to)
  else history.pushState(null, '', to)
  place.set(placeOf(location, stepped))
}

const OWN = /^\/(?:$|new$|search$|usage$|sessions\/)/

/** Lets links to views change the view, and everything else be what it is. */
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
