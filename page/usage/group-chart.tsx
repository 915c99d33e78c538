import type { ComponentChildren } from 'preact'
import type { UsageEntry } from '../../functions/client/api-types.ts'
import { useTitles } from '../sessions/session-titles.ts'
import { plural } from '../text/words.ts'
import { barOf, onScale, scaleOf, together } from './bars.ts'
import type { Bar, Measure } from './bars.ts'
import { GroupName } from './group-name.tsx'
import type { Group } from './group-name.tsx'
import { Legend } from './legend.tsx'

/** Maximum number of bars. All further entries are summed up in one bar; the table shows each of them. */
const MAX_BARS = 12

interface Props {
  readonly by: Group
  readonly entries: readonly UsageEntry[]
  readonly measure: Measure
}

/** Shows a bar for each agent, model, owner or session, longest first. Each bar has a label with its values. */
export function GroupChart({ by, entries, measure }: Props) {
  const sorted = entries
    .map((entry) => ({ entry, bar: barOf(entry, measure) }))
    .toSorted((left, right) => right.bar.length - left.bar.length)
  const isCut = sorted.length > MAX_BARS
  const shown = (isCut ? sorted.slice(0, MAX_BARS - 1) : sorted).map(({ bar }) => bar)
  const rest = isCut ? sorted.slice(MAX_BARS - 1).map(({ entry }) => entry) : []
  const others = together(`${plural(rest.length, 'other')}`, rest)
  const last = others === undefined ? undefined : barOf(others, measure)
  const bars = last === undefined ? shown : [...shown, last]
  const titles = useTitles(by === 'session' ? shown.flatMap(({ key }) => key ?? []) : [])
  const lines = scaleOf(bars)
  const end = lines.at(-1) ?? 1
  return (
    <>
      <ol class="uses" aria-label={`${measure === 'tokens' ? 'Tokens' : 'Costs'} by ${by}`}>
        {shown.map((bar) => (
          <Row
            key={bar.key}
            bar={bar}
            end={end}
            name={<GroupName by={by} name={bar.key} title={titles.get(bar.key ?? '')} />}
          />
        ))}
        {last === undefined ? null : <Row bar={last} end={end} name={last.key} />}
      </ol>
      <div class="uses-axis" aria-hidden="true">
        {lines.map((value) => (
          <span key={value}>{onScale(value, measure)}</span>
        ))}
      </div>
      <Legend measure={measure} bars={bars} />
    </>
  )
}

interface RowProps {
  readonly bar: Bar
  readonly end: number
  readonly name: ComponentChildren
}

function Row({ bar, end, name }: RowProps) {
  return (
    <li>
      <span class="use-name">{name}</span>
      <span class="use-words">{bar.label}</span>
      <span class="use-bar" aria-hidden="true">
        {bar.parts.map((part) => (
          <span key={part.name} class={`used-${part.name}`} style={{ width: `${(100 * part.value) / end}%` }} />
        ))}
        {bar.hasUnknown ? <span class="used-unknown" /> : null}
      </span>
    </li>
  )
}
