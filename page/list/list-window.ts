/** Distance above and below the viewport, in pixels, within which items are also rendered. */
const MARGIN = 600
/**
 * Distance from the end of a list, in pixels. If a person scrolls down to within this distance, the list stays at its
 * end when items are added.
 */
const NEAR_END = 60

/** The visible part of a list: its position and height, in pixels. */
export interface Viewport {
  readonly top: number
  readonly height: number
}

/**
 * Positions of items in pixels; the last number in `tops` is the end of the last item. The items from index `first` up
 * to, but not including, `last` are rendered.
 */
export interface ListWindow {
  readonly keys: readonly string[]
  readonly tops: readonly number[]
  readonly first: number
  readonly last: number
}

/** The state of a list between two renderings. */
export interface Kept {
  /** Heights in pixels, by the keys of rendered items. */
  readonly heights: Map<string, number>
  /** Whether the list shows its end and must stay there. */
  atEnd: boolean
  /** If `atEnd` is false: the item at the top of the viewport, and how many pixels of it are above the viewport. */
  anchor: { readonly key: string; readonly delta: number } | undefined
  /** The last rendering, with its scroll position and its scrollable height. */
  shown: Pick<ListWindow, 'keys' | 'tops'> & { readonly scrolled: number; readonly height: number }
  /**
   * `sought`: the last target to which the list was scrolled. `reached`: the last target that was rendered and
   * then shown.
   */
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

/** Returns the window of items to render. `heights` has the height of each item, by key. */
export function windowOf(
  heights: readonly (readonly [key: string, height: number])[],
  { top, height }: Viewport,
): ListWindow {
  const tops = [0]
  for (const [, height] of heights) tops.push((tops.at(-1) ?? 0) + height)
  const first = Math.max(0, indexAt(tops, top - MARGIN))
  const last = Math.min(heights.length, indexAt(tops, top + height + MARGIN) + 1)
  return { keys: heights.map(([key]) => key), tops, first, last }
}

/**
 * Records the visible position, which later renderings keep. `top`: height of the items above the viewport, in pixels.
 * `continues`: more items follow the last loaded one.
 */
export function recordPosition(kept: Kept, element: HTMLElement, top: number, continues: boolean): void {
  const { keys, tops, height, scrolled } = kept.shown
  const left = height - element.scrollTop - element.clientHeight
  const by = element.scrollTop - scrolled
  // After a scroll up, the list can be at its end only if the list became shorter or the viewport became higher.
  if (by < -1) kept.atEnd = left < 2 && (kept.atEnd || !continues)
  else if (by > 1) kept.atEnd = left < NEAR_END && !continues
  const index = Math.max(0, indexAt(tops, top))
  const key = keys[index]
  if (key !== undefined) kept.anchor = { key, delta: top - (tops[index] ?? 0) }
  kept.shown = { ...kept.shown, scrolled: element.scrollTop }
}

/**
 * Restores the recorded position. `offset`: pixels before the first item. `continues`: more items follow the last
 * loaded one.
 */
export function restorePosition(
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

/** Scrolls once to an item of the list, and shows it `below` pixels under the top of the viewport. */
export function seek(kept: Kept, target: string | undefined, keys: readonly string[], below: number): void {
  if (target === undefined || kept.sought === target || !keys.includes(target)) return
  kept.sought = target
  kept.atEnd = false
  kept.anchor = { key: target, delta: -below }
}

/** Whether the positions of all rendered items are measured, not estimated. */
export const isMeasured = ({ heights }: Kept, { keys, tops, first, last }: ListWindow): boolean =>
  keys.slice(first, last).every((key, index) => {
    const height = (tops[first + index + 1] ?? 0) - (tops[first + index] ?? 0)
    return Math.abs((heights.get(key) ?? -1) - height) < 0.5
  })

/** Whether only little loaded content is left before or after the viewport. */
export function isNear(element: HTMLElement, top: number, { tops }: ListWindow): { start: boolean; end: boolean } {
  return { start: top < MARGIN, end: (tops.at(-1) ?? 0) - top - element.clientHeight < MARGIN }
}

/**
 * Whether a person has scrolled and the scroll event has not arrived yet. When a list becomes shorter, the browser may
 * scroll to the new end; such a scroll does not count.
 */
export function isScrolled(element: HTMLElement, { scrolled }: Kept['shown']): boolean {
  const by = element.scrollTop - scrolled
  const isClamped = by < 0 && element.scrollHeight - element.scrollTop - element.clientHeight <= 1
  return Math.abs(by) > 1 && !isClamped
}

/** Returns the index of the item at a position. */
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

/**
 * Returns the item to keep in place; initially, the first item. If that item was merged into another one, returns the
 * next item that still exists.
 */
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
