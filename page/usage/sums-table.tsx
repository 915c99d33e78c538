import type { UsageEntry } from '../../functions/client/api-types.ts'
import { count, tokens } from '../text/words.ts'
import { costOf } from './bars.ts'
import { GroupName } from './group-name.tsx'
import type { Group } from './group-name.tsx'

const FIGURES = ['in', 'of which cached', 'out', 'completions', 'cost']

/** Shows the figures of a chart as a table, for people who cannot see the bars. */
export function SumsTable({ by, entries }: { readonly by: Group; readonly entries: readonly UsageEntry[] }) {
  return (
    <details class="sums-details">
      <summary>As a table</summary>
      <div class="table-scroll" tabIndex={0} role="region" aria-label={`Figures by ${by}`}>
        <table class="sums">
          <thead>
            <tr>
              <th scope="col">{by}</th>
              {FIGURES.map((name) => (
                <th key={name} scope="col" class="number">
                  {name}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {entries.map((entry) => (
              <tr key={entry.key}>
                <th scope="row">
                  <GroupName by={by} name={entry.key} />
                </th>
                <td class="number">{tokens(entry.usage.input_tokens)}</td>
                <td class="number">{tokens(entry.usage.cached_input_tokens)}</td>
                <td class="number">{tokens(entry.usage.output_tokens)}</td>
                <td class="number">{count(entry.completions)}</td>
                <td class="number" title={(entry.unpriced_models ?? []).map((name) => `no price: ${name}`).join(', ')}>
                  {costOf([entry])}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </details>
  )
}
