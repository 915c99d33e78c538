import { useEffect, useLayoutEffect } from 'preact/hooks'
import type { RefObject } from 'preact'

interface Measured {
  readonly scroller: RefObject<HTMLElement | null>
  /** Its children are the items; `data-key` has the key of each. */
  readonly body: RefObject<HTMLElement | null>
  readonly heights: Map<string, number>
  /** An item has another height than was known. */
  readonly onChange: () => void
  /** The scroller has another size. */
  readonly onResize: (scroller: HTMLElement) => void
}

const observers = new WeakMap<Element, ResizeObserver>()

/** Keeps the heights of the items that are rendered. */
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
