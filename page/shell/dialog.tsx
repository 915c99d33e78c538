import type { ComponentChildren } from 'preact'
import { useLayoutEffect, useRef } from 'preact/hooks'

/** A modal dialog over the page. Escape closes it. The focus then returns to the element that had it before. */
export function Dialog(props: {
  readonly title: string
  readonly close: () => void
  readonly wide?: boolean
  readonly children: ComponentChildren
}) {
  const element = useRef<HTMLDialogElement>(null)
  useLayoutEffect(() => {
    const dialog = element.current
    dialog?.showModal()
    // The dialog is closed first: a dialog that is removed while it is open does not return the focus.
    return () => dialog?.close()
  }, [])
  return (
    <dialog
      ref={element}
      class={props.wide === true ? 'wide-dialog' : ''}
      aria-label={props.title}
      onClose={props.close}
    >
      <header class="row">
        <h2>{props.title}</h2>
        <span class="grow" />
        <button type="button" onClick={() => element.current?.close()}>
          Close
        </button>
      </header>
      {props.children}
    </dialog>
  )
}
