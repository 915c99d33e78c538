import type { ComponentChildren, RefObject } from 'preact'
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { useHeights } from './item-heights.ts'
import {
  recordPosition,
  isMeasured,
  isNear,
  isScrolled,
  nothingKept,
  seek,
  restorePosition,
  windowOf,
} from './list-window.ts'
import type { Kept, ListWindow } from './list-window.ts'
import { reveal, shrink } from './reveal.ts'
import type { Reveal } from './reveal.ts'

/** Distance between the list's top and a target whose final position is unknown, as a share of the list's height. */
const TARGET_AT = 0.12

interface Props<Item> {
  readonly items: readonly Item[]
  readonly keyOf: (item: Item) => string
  /** Estimated height in pixels, until the item has been rendered. */
  readonly estimate: (item: Item) => number
  readonly render: (item: Item) => ComponentChildren
  readonly label: string
  /** Scrolls to this item when the value changes. */
  readonly target?: string | undefined
  /** Called once the target is rendered. Returns the element to show in the upper half of the list. */
  readonly onTarget?: (() => Reveal | undefined) | undefined
  readonly onNearStart?: (() => void) | undefined
  readonly onNearEnd?: (() => void) | undefined
  /** Whether more items follow the last loaded one. The end of the loaded items is then not the end of the list. */
  readonly continues: boolean
  /** Scrolls to the end when this value changes. */
  readonly toEnd: number
  /** Content before the first and after the last item. */
  readonly before?: ComponentChildren
  readonly after?: ComponentChildren
}

/**
 * A scrolling list that renders only items near the viewport. Items may have any height, and their height may change.
 * The visible content keeps its position when items before it are added or change their height. A list that shows its
 * end stays at the end, unless `continues` is set.
 */
export function VirtualList<Item>(props: Props<Item>) {
  const { items, keyOf } = props
  const { scroller, body, slack, shown, onScroll } = useWindow(props)
  const { tops, first, last } = shown
  const total = tops.at(-1) ?? 0
  return (
    <div class="scroller" ref={scroller} onScroll={onScroll} tabIndex={0} role="region" aria-label={props.label}>
      {props.before}
      <div
        ref={body}
        class="virtual"
        style={{
          paddingTop: `${tops[first] ?? 0}px`,
          paddingBottom: `${Math.max(0, total - (tops[last] ?? total))}px`,
        }}
      >
        {items.slice(first, last).map((item) => (
          <div key={keyOf(item)} data-key={keyOf(item)} class="virtual-item">
            {props.render(item)}
          </div>
        ))}
      </div>
      {props.after}
      <div ref={slack} />
    </div>
  )
}

/** Returns the items to render. They depend on the scroll position and on all items. */
function useWindow<Item>(props: Props<Item>) {
  const { items, keyOf, estimate, target, continues, toEnd } = props
  const scroller = useRef<HTMLDivElement>(null)
  const body = useRef<HTMLDivElement>(null)
  const slack = useRef<HTMLDivElement>(null)
  const [kept] = useState(nothingKept)
  const [viewport, setViewport] = useState({ top: 0, height: 800 })
  const [, measure] = useState({})
  const heightOf = (item: Item): number => kept.heights.get(keyOf(item)) ?? estimate(item)
  const shown = windowOf(
    items.map((item) => [keyOf(item), heightOf(item)]),
    viewport,
  )
  const topOf = (element: HTMLElement): number => element.scrollTop - (body.current?.offsetTop ?? 0)

  useLayoutEffect(() => {
    kept.atEnd = true
    slack.current?.style.removeProperty('height')
  }, [toEnd])
  useLayoutEffect(() => seek(kept, target, shown.keys, viewport.height * TARGET_AT), [target, items])
  useLayoutEffect(() => {
    const element = scroller.current
    if (element === null) return
    if (isScrolled(element, kept.shown)) recordPosition(kept, element, topOf(element), continues)
    if (slack.current !== null) shrink(element, slack.current)
    restorePosition(kept, element, shown, { offset: body.current?.offsetTop ?? 0, continues })
    update(element)
  })
  // Loads more items if the new items do not fill the viewport, or if the list was scrolled during the load.
  useEffect(() => {
    if (scroller.current !== null && items.length > 0) loadNearby(scroller.current)
  }, [items])
  useReached(props, kept, shown, { scroller, slack })
  useHeights({ scroller, body, heights: kept.heights, onChange: () => measure({}), onResize: update })

  /** Renders the visible items. */
  function update(element: HTMLElement): void {
    const next = { top: topOf(element), height: element.clientHeight }
    setViewport((old) => (Math.abs(old.top - next.top) < 1 && old.height === next.height ? old : next))
  }
  function loadNearby(element: HTMLElement): void {
    const { start, end } = isNear(element, topOf(element), shown)
    if (start) props.onNearStart?.()
    if (end) props.onNearEnd?.()
  }
  const onScroll = (): void => {
    const element = scroller.current
    if (element === null) return
    recordPosition(kept, element, topOf(element), continues)
    update(element)
    loadNearby(element)
  }
  return { scroller, body, slack, shown, onScroll }
}

interface Elements {
  readonly scroller: RefObject<HTMLElement | null>
  readonly slack: RefObject<HTMLElement | null>
}

/** Shows the target's element in the upper half, once its item is rendered. */
function useReached<Item>(
  { target, onTarget }: Props<Item>,
  kept: Kept,
  shown: ListWindow,
  { scroller, slack }: Elements,
): void {
  useEffect(() => {
    if (target === undefined || kept.reached === target) return
    if (!shown.keys.slice(shown.first, shown.last).includes(target) || !isMeasured(kept, shown)) return
    kept.reached = target
    const wanted = onTarget?.()
    if (wanted !== undefined && scroller.current !== null && slack.current !== null)
      reveal(scroller.current, slack.current, wanted)
  })
}
