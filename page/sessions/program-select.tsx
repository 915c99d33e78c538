import { programName, PROGRAMS } from './session-facts.ts'

/**
 * A field to select the program from which sessions were imported. `sources`: choices in addition to the programs of
 * `PROGRAMS`.
 */
export function ProgramSelect(props: {
  readonly value: string
  readonly sources: readonly (string | undefined)[]
  readonly change: (source: string) => void
}) {
  const { value, sources, change } = props
  const all = [...Object.keys(PROGRAMS), ...sources.flatMap((source) => source ?? []), ...(value === '' ? [] : [value])]
  return (
    <select value={value} onChange={(event) => change(event.currentTarget.value)}>
      <option value="">any</option>
      {[...new Set(all)].map((source) => (
        <option key={source} value={source}>
          {programName(source)}
        </option>
      ))}
    </select>
  )
}
