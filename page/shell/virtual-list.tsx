import type { ComponentChildren } from 'preact'
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'

/** Pixels above and below the visible part that are rendered as well. */
const MARGIN = 600
/** So close to the end, the list stays at the end when something is added. */
const NEAR_END = 60

interface Props<Item> {
  readonly items: readonly Item[]
  readonly keyOf: (item: Item) => string
  /** Pixels, before the item has been rendered. */
  readonly estimate: (item: Item) => number
  readonly render: (item: Item) => ComponentChildren
  readonly label: string
  /** Scrolls to this item when it changes. */
  readonly target?: string | undefined
  /** Called once that item is rendered. */
  readonly onTarget?: (() => void) | undefined
  readonly onNearStart?: (() => void) | undefined
  readonly onNearEnd?: (() => void) | undefined
  /** Before the first and after the last item. */
  readonly before?: ComponentChildren
  readonly after?: ComponentChildren
}

/** The item at the top of what is seen, and how far it is scrolled out of it. */
interface Anchor {
  readonly key: string
  readonly delta: number
}

/** What the list showed when it was rendered last. */
interface Shown {
  readonly keys: readonly string[]
  readonly tops: readonly number[]
  /** Pixels: where it was scrolled to, and all that can be scrolled. */
  readonly scrolled: number
  readonly height: number
}

/**
 * A scrolling list that renders only what is near the visible part. Items may have any height and change it. What is seen stays
 * where it is when items are added before it or change their height; at the end, the list stays at the end.
 */
export function VirtualList<Item>(props: Props<Item>) {
  const { items, keyOf, estimate, target } = props
  const scroller = useRef<HTMLDivElement>(null)
  const body = useRef<HTMLDivElement>(null)
  const heights = useRef(new Map<string, number>())
  const atEnd = useRef(true)
  const shown = useRef<Shown>({ keys: [], tops: [0], scrolled: 0, height: 0 })
  const anchor = useRef<Anchor | undefined>(undefined)
  const sought = useRef<string | undefined>(undefined)
  const reached = useRef<string | undefined>(undefined)
  const [view, setView] = useState({ top: 0, height: 800 })
  const [, measure] = useState({})

  const tops = [0]
  for (const item of items) tops.push((tops.at(-1) ?? 0) + (heights.current.get(keyOf(item)) ?? estimate(item)))
  const total = tops.at(-1) ?? 0
  const first = Math.max(0, before(tops, view.top - MARGIN))
  const last = Math.min(items.length, before(tops, view.top + view.height + MARGIN) + 1)

  useLayoutEffect(() => {
    if (target === undefined || sought.current === target) return
    if (!items.some((item) => keyOf(item) === target)) return
    sought.current = target
    atEnd.current = false
    anchor.current = { key: target, delta: -24 }
  }, [target, items])

  useLayoutEffect(() => {
    const element = scroller.current
    if (element === null) return
    if (isScrolled(element, shown.current.scrolled)) hold(element)
    const wanted = atEnd.current ? element.scrollHeight : placeOf(anchor.current, items, keyOf, tops)
    const offset = atEnd.current ? 0 : (body.current?.offsetTop ?? 0)
    if (wanted !== undefined && Math.abs(element.scrollTop - wanted - offset) > 1) element.scrollTop = wanted + offset
    shown.current = { keys: items.map(keyOf), tops, scrolled: element.scrollTop, height: element.scrollHeight }
    look(element)
  })

  // What came in may be too little, or the list may have been scrolled on while it came.
  useEffect(() => {
    if (scroller.current !== null && items.length > 0) lookAround(scroller.current)
  }, [items])

  useEffect(() => {
    if (target === undefined || reached.current === target) return
    if (!items.slice(first, last).some((item) => keyOf(item) === target)) return
    reached.current = target
    props.onTarget?.()
  })

  useEffect(() => {
    const element = scroller.current
    const inner = body.current
    if (element === null || inner === null) return undefined
    const observer = new ResizeObserver(() => measureChildren(inner, heights.current) && measure({}))
    const resized = new ResizeObserver(() => look(element))
    resized.observe(element)
    observers.set(inner, observer)
    look(element)
    return () => {
      observer.disconnect()
      resized.disconnect()
    }
  }, [])

  useLayoutEffect(() => {
    const inner = body.current
    if (inner === null) return
    const observer = observers.get(inner)
    for (const child of inner.children) observer?.observe(child)
    if (measureChildren(inner, heights.current)) measure({})
  })

  /** What is seen is what stays in its place. */
  function hold(element: HTMLElement): void {
    const { keys, tops, height } = shown.current
    const top = topOf(element)
    atEnd.current = height - element.scrollTop - element.clientHeight < NEAR_END
    const index = Math.max(0, before(tops, top))
    const key = keys[index]
    if (key !== undefined) anchor.current = { key, delta: top - (tops[index] ?? 0) }
    shown.current = { ...shown.current, scrolled: element.scrollTop }
  }

  /** Renders what is in sight. */
  function look(element: HTMLElement): void {
    const next = { top: topOf(element), height: element.clientHeight }
    setView((old) => (Math.abs(old.top - next.top) < 1 && old.height === next.height ? old : next))
  }

  function lookAround(element: HTMLElement): void {
    const top = topOf(element)
    if (top < MARGIN) props.onNearStart?.()
    if (total - top - element.clientHeight < MARGIN) props.onNearEnd?.()
  }

  const topOf = (element: HTMLElement): number => element.scrollTop - (body.current?.offsetTop ?? 0)

  const onScroll = (): void => {
    const element = scroller.current
    if (element === null) return
    hold(element)
    look(element)
    lookAround(element)
  }

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
    </div>
  )
}

const observers = new WeakMap<Element, ResizeObserver>()

/** The index of the item in which a position lies. */
function before(tops: readonly number[], position: number): number {
  let low = 0
  let high = tops.length - 1
  while (low < high) {
    const middle = (low + high + 1) >> 1
    if ((tops[middle] ?? 0) <= position) low = middle
    else high = middle - 1
  }
  return low
}

/** Whether somebody has scrolled, and the event is still to come: a list that became shorter moves by itself, to its end. */
function isScrolled(element: HTMLElement, from: number): boolean {
  const by = element.scrollTop - from
  const isClamped = by < 0 && element.scrollHeight - element.scrollTop - element.clientHeight <= 1
  return Math.abs(by) > 1 && !isClamped
}

function placeOf<Item>(
  anchor: Anchor | undefined,
  items: readonly Item[],
  keyOf: (item: Item) => string,
  tops: readonly number[],
): number | undefined {
  if (anchor === undefined) return undefined
  const index = items.findIndex((item) => keyOf(item) === anchor.key)
  return index === -1 ? undefined : (tops[index] ?? 0) + anchor.delta
}

/** Whether a rendered item has another height than was known. */
function measureChildren(body: HTMLElement, heights: Map<string, number>): boolean {
  let changed = false
  for (const child of body.children) {
    const key = child instanceof HTMLElement ? (child.dataset['key'] ?? '') : ''
    const height = child.getBoundingClientRect().height
    if (Math.abs((heights.get(key) ?? -1) - height) < 0.5) continue
    heights.set(key, height)
    changed = true
  }
  return changed
}
