import { useEffect, useLayoutEffect } from 'preact/hooks'
import type { RefObject } from 'preact'

interface Measured {
  readonly scroller: RefObject<HTMLElement | null>
  /** The element that contains the items. Each item has its key in `data-key`. */
  readonly body: RefObject<HTMLElement | null>
  readonly heights: Map<string, number>
  /** Called when the height of an item has changed. */
  readonly onChange: () => void
  /** Called when the size of the scroller has changed. */
  readonly onResize: (scroller: HTMLElement) => void
}

const observers = new WeakMap<Element, ResizeObserver>()

/** Measures the heights of the rendered items. */
export function useHeights({ scroller, body, heights, onChange, onResize }: Measured): void {
  useEffect(() => {
    const element = scroller.current
    const inner = body.current
    if (element === null || inner === null) return undefined
    const observer = new ResizeObserver(() => measureChildren(inner, heights) && onChange())
    const resized = new ResizeObserver(() => onResize(element))
    resized.observe(element)
    observers.set(inner, observer)
    onResize(element)
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
    if (measureChildren(inner, heights)) onChange()
  })
}

/** Measures rendered items. Returns whether any height has changed. */
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
