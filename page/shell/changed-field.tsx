import { useState } from 'preact/hooks'

/** A text that changes once somebody leaves the field or presses Enter. What is being typed stays, whatever else changes. */
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
