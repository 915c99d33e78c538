/** Pixels above and below the visible part that are rendered as well. */
const MARGIN = 600
/** Who scrolls down so close to the end stays at the end when something is added. */
const NEAR_END = 60

/** The visible part of a list: where it begins, in pixels, and how high it is. */
export interface Sight {
  readonly top: number
  readonly height: number
}

/** Where items lie, in pixels; the last of `tops` is the end. Those from `first` to before `last` are rendered. */
export interface ListWindow {
  readonly keys: readonly string[]
  readonly tops: readonly number[]
  readonly first: number
  readonly last: number
}

/** What a list remembers from one rendering to the next. */
export interface Kept {
  /** Pixels, by the keys of items that were rendered. */
  readonly heights: Map<string, number>
  /** Whether its end is seen, and stays in sight. */
  atEnd: boolean
  /** Otherwise the item at the top of what is seen, and how far it is scrolled out of it. */
  anchor: { readonly key: string; readonly delta: number } | undefined
  /** What it showed; where it was scrolled to, and all that could be scrolled. */
  shown: Pick<ListWindow, 'keys' | 'tops'> & { readonly scrolled: number; readonly height: number }
  /** The item that it went to last, and the one that is known to be rendered. */
  sought: string | undefined
  reached: string | undefined
}

export const nothingKept = (): Kept => ({
  heights: new Map(),
  atEnd: true,
  anchor: undefined,
  shown: { keys: [], tops: [0], scrolled: 0, height: 0 },
  sought: undefined,
  reached: undefined,
})

/** `heights`: of each item, by its key. */
export function windowOf(
  heights: readonly (readonly [key: string, height: number])[],
  { top, height }: Sight,
): ListWindow {
  const tops = [0]
  for (const [, height] of heights) tops.push((tops.at(-1) ?? 0) + height)
  const first = Math.max(0, indexAt(tops, top - MARGIN))
  const last = Math.min(heights.length, indexAt(tops, top + height + MARGIN) + 1)
  return { keys: heights.map(([key]) => key), tops, first, last }
}

/**
 * What is seen is what stays in its place. `top`: pixels of the items that are scrolled out; `continues`: more items are to come
 * after the last one.
 */
export function hold(kept: Kept, element: HTMLElement, top: number, continues: boolean): void {
  const { keys, tops, height, scrolled } = kept.shown
  const left = height - element.scrollTop - element.clientHeight
  const by = element.scrollTop - scrolled
  // Up to the end moves only a list that has become shorter, or higher in the window.
  if (by < -1) kept.atEnd = left < 2 && (kept.atEnd || !continues)
  else if (by > 1) kept.atEnd = left < NEAR_END && !continues
  const index = Math.max(0, indexAt(tops, top))
  const key = keys[index]
  if (key !== undefined) kept.anchor = { key, delta: top - (tops[index] ?? 0) }
  kept.shown = { ...kept.shown, scrolled: element.scrollTop }
}

/** Scrolls to what was seen before. `offset`: pixels before the first item; `continues`: more items are to come after the last one. */
export function settle(
  kept: Kept,
  element: HTMLElement,
  { keys, tops }: ListWindow,
  { offset, continues }: { readonly offset: number; readonly continues: boolean },
): void {
  kept.anchor = anchorIn(kept, keys)
  const place = placeOf(kept, keys, tops)
  const held = place === undefined ? undefined : place + offset
  const wanted = kept.atEnd && !continues ? element.scrollHeight : held
  if (wanted !== undefined && Math.abs(element.scrollTop - wanted) > 1) element.scrollTop = wanted
  kept.shown = { keys, tops, scrolled: element.scrollTop, height: element.scrollHeight }
}

/** Goes to an item of the list, once: `below` pixels under the top of what is seen. */
export function seek(kept: Kept, target: string | undefined, keys: readonly string[], below: number): void {
  if (target === undefined || kept.sought === target || !keys.includes(target)) return
  kept.sought = target
  kept.atEnd = false
  kept.anchor = { key: target, delta: -below }
}

/** Whether the items that are rendered lie where their heights put them: none is at an estimated place. */
export const isMeasured = ({ heights }: Kept, { keys, tops, first, last }: ListWindow): boolean =>
  keys.slice(first, last).every((key, index) => {
    const height = (tops[first + index + 1] ?? 0) - (tops[first + index] ?? 0)
    return Math.abs((heights.get(key) ?? -1) - height) < 0.5
  })

/** Whether little is left before and after what is seen. */
export function isNear(element: HTMLElement, top: number, { tops }: ListWindow): { start: boolean; end: boolean } {
  return { start: top < MARGIN, end: (tops.at(-1) ?? 0) - top - element.clientHeight < MARGIN }
}

/** Whether somebody has scrolled, and the event is still to come: a list that became shorter moves by itself, to its end. */
export function isScrolled(element: HTMLElement, { scrolled }: Kept['shown']): boolean {
  const by = element.scrollTop - scrolled
  const isClamped = by < 0 && element.scrollHeight - element.scrollTop - element.clientHeight <= 1
  return Math.abs(by) > 1 && !isClamped
}

/** The index of the item in which a position lies. */
function indexAt(tops: readonly number[], position: number): number {
  let low = 0
  let high = tops.length - 1
  while (low < high) {
    const middle = (low + high + 1) >> 1
    if ((tops[middle] ?? 0) <= position) low = middle
    else high = middle - 1
  }
  return low
}

/** The anchor, first the beginning; once its item has become a part of another one, the next of those that came after it. */
function anchorIn({ anchor, shown }: Kept, keys: readonly string[]): Kept['anchor'] {
  const [first] = keys
  if (anchor === undefined) return first === undefined ? undefined : { key: first, delta: 0 }
  if (keys.includes(anchor.key)) return anchor
  const known = new Set(keys)
  const from = shown.keys.indexOf(anchor.key)
  const next = shown.keys.findIndex((key, at) => at > from && known.has(key))
  const key = shown.keys[next]
  if (from === -1 || key === undefined) return anchor
  return { key, delta: anchor.delta + (shown.tops[from] ?? 0) - (shown.tops[next] ?? 0) }
}

function placeOf({ anchor }: Kept, keys: readonly string[], tops: readonly number[]): number | undefined {
  const index = anchor === undefined ? -1 : keys.indexOf(anchor.key)
  return anchor === undefined || index === -1 ? undefined : (tops[index] ?? 0) + anchor.delta
}
