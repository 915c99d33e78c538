import { useState } from 'preact/hooks'

/**
 * A text field that reports a change when it loses the focus or Enter is pressed. Text that is being typed is kept,
 * whatever else changes.
 */
export function ChangedField(props: {
  readonly value: string
  readonly change: (value: string) => void
  /** Id of a datalist. */
  readonly list?: string
}) {
  const [typed, setTyped] = useState<string>()
  return (
    <input
      list={props.list}
      value={typed ?? props.value}
      onInput={(event) => setTyped(event.currentTarget.value)}
      onChange={(event) => {
        setTyped(undefined)
        props.change(event.currentTarget.value.trim())
      }}
    />
  )
}
