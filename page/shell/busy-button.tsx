import type { ComponentChildren } from 'preact'

/** A button that ignores clicks while its action runs. It keeps the focus, which a disabled button would lose. */
export function BusyButton(props: {
  readonly isBusy: boolean
  /** Undefined for a button that submits its form. */
  readonly onClick?: () => void
  readonly class?: string
  readonly children: ComponentChildren
}) {
  const { isBusy, onClick } = props
  return (
    <button
      type={onClick === undefined ? 'submit' : 'button'}
      class={props.class}
      aria-disabled={isBusy}
      onClick={(event) => {
        if (isBusy) event.preventDefault()
        else onClick?.()
      }}
    >
      {props.children}
    </button>
  )
}
