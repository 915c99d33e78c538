import { useState } from 'preact/hooks'

/**
 * A text field that reports a change when it loses the focus, or when Enter is pressed. Text that is being typed stays,
 * even if the value changes elsewhere.
 */
export function ChangedField(props: {
  readonly value: string
  readonly change: (value: string) => void
  /** Id of a `datalist` element with suggestions. */
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
