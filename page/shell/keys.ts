import { useEffect, useRef } from 'preact/hooks'

/** Actions of keys on the whole page. They do not apply while a field has the focus. */
export interface KeyActions {
  readonly [key: string]: () => void
}

/** While the component is shown, calls a key's action when the key is pressed. */
export function useKeys(actions: KeyActions): void {
  const current = useRef(actions)
  current.current = actions
  useEffect(() => {
    const press = (event: KeyboardEvent): void => {
      if (event.defaultPrevented || event.metaKey || event.ctrlKey || event.altKey || isWriting(event.target)) return
      const action = current.current[event.key]
      if (action === undefined || document.querySelector('dialog[open]') !== null) return
      event.preventDefault()
      action()
    }
    addEventListener('keydown', press)
    return () => removeEventListener('keydown', press)
  }, [])
}

const isWriting = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement && (target.isContentEditable || /^(?:INPUT|TEXTAREA|SELECT)$/.test(target.tagName))
