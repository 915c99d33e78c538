import { LEGENDS } from './bars.ts'
import type { Bar, Measure } from './bars.ts'

/** Explains the colours of a chart. If the chart has unknown values, also explains their mark. */
export function Legend({ measure, bars }: { readonly measure: Measure; readonly bars: readonly Bar[] }) {
  return (
    <ul class="legend">
      {LEGENDS[measure].map((name) => (
        <li key={name}>
          <span class={`swatch used-${name}`} /> {name}
        </li>
      ))}
      {bars.some(({ hasUnknown }) => hasUnknown) ? (
        <li>
          <span class="swatch used-unknown" /> unknown
        </li>
      ) : null}
    </ul>
  )
}
