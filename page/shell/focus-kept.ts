import { useEffect } from 'preact/hooks'
import type { RefObject } from 'preact'

/**
 * Keeps the focus inside `container` when a rendering moves, replaces or removes the focused element. If a focused link
 * is replaced, the new link with an equal address gets the focus. Otherwise, the focus moves to the element that
 * matches `fallback`.
 */
export function useFocusKept(container: RefObject<HTMLElement | null>, fallback: string): void {
  useEffect(() => {
    const element = container.current
    if (element === null) return undefined
    let focused: HTMLElement | undefined
    const notice = ({ target }: FocusEvent): void => {
      if (target instanceof HTMLElement) focused = target
    }
    const observer = new MutationObserver((changes) => {
      const lost = focused
      if (lost === undefined || document.activeElement !== document.body || !isRemoved(lost, changes)) return
      successorOf(lost, element, fallback)?.focus({ preventScroll: true })
    })
    element.addEventListener('focusin', notice)
    observer.observe(element, { childList: true, subtree: true })
    return () => {
      element.removeEventListener('focusin', notice)
      observer.disconnect()
    }
  }, [])
}

const isRemoved = (element: Node, changes: readonly MutationRecord[]): boolean =>
  changes.some(({ removedNodes }) => [...removedNodes].some((node) => node.contains(element)))

function successorOf(lost: HTMLElement, container: HTMLElement, fallback: string): HTMLElement | null {
  if (lost.isConnected) return lost
  const address = lost.getAttribute('href')
  const link = address === null ? null : container.querySelector<HTMLElement>(`a[href="${CSS.escape(address)}"]`)
  return link ?? container.querySelector<HTMLElement>(fallback)
}
