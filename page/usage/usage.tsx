import { useEffect, useState } from 'preact/hooks'
import type { Queries, UsageEntry, UsagePage } from '../../functions/client/api-types.ts'
import { client } from '../shell/api.ts'
import { Failure } from '../shell/failure.tsx'
import { go, href, usePlace } from '../shell/place.ts'
import { compact, count, dollars, month, tokens } from '../shell/words.ts'
import { DayChart, daysBetween } from './day-chart.tsx'

type Group = NonNullable<NonNullable<Queries['readUsage']>['by']>
const GROUPS = ['agent', 'model', 'owner', 'session'] as const
const PERIODS = [7, 30, 90] as const
const DAY_MS = 86_400_000

/** Tokens and what they cost, by day and by agent, model, owner or session. */
export function UsageView() {
  const { query } = usePlace()
  const days = PERIODS.find((one) => String(one) === query.get('days')) ?? 30
  const by = GROUPS.find((one) => one === query.get('by')) ?? 'agent'
  const to = new Date().toISOString().slice(0, 10)
  const from = new Date(Date.parse(to) - (days - 1) * DAY_MS).toISOString().slice(0, 10)
  const daily = useEntries('day', from, to)
  const groups = useEntries(by, from, to)
  useEffect(() => {
    document.title = 'Usage · Tooltrail'
  }, [])
  const show = (next: { readonly days?: number; readonly by?: string }): void =>
    go(`/usage?days=${next.days ?? days}&by=${next.by ?? by}`, { replace: true })
  return (
    <div class="view usage" tabIndex={0} role="region" aria-label="Usage">
      <header class="row">
        <a class="back" href={href('/')} aria-label="All sessions">
          ‹
        </a>
        <h1>Usage</h1>
        <span class="grow" />
        <Choice
          name="Period"
          values={PERIODS}
          chosen={days}
          words={(value) => `${value} days`}
          choose={(value) => show({ days: value })}
        />
      </header>
      {daily.error === undefined ? null : <Failure error={daily.error} />}
      <Totals entries={daily.entries} />
      <section class="card" aria-label="By day">
        <h3>Tokens by day</h3>
        <DayChart entries={daily.entries} days={daysBetween(from, to)} />
      </section>
      <section class="card">
        <header class="row">
          <h3>By {by}</h3>
          <span class="grow" />
          <Choice
            name="Group"
            values={GROUPS}
            chosen={by}
            words={(value) => value}
            choose={(value) => show({ by: value })}
          />
        </header>
        {groups.error === undefined ? (
          <GroupTable by={by} entries={groups.entries} />
        ) : (
          <Failure error={groups.error} />
        )}
      </section>
      <p class="quiet small">
        Days are those of UTC. Costs are list prices{listsOf(daily.lists)}. A model without a price there costs an
        unknown amount.
      </p>
    </div>
  )
}

interface Entries {
  readonly entries: readonly UsageEntry[]
  readonly lists: UsagePage['price_lists']
  readonly error: unknown
}

const NOTHING: Entries = { entries: [], lists: {}, error: undefined }

/** Of which month the prices are, such as ` (anthropic: November 2026)`. */
function listsOf(lists: Entries['lists']): string {
  const named = Object.entries(lists).map(([provider, time]) => `${provider}: ${month(time)}`)
  return named.length === 0 ? '' : ` (${named.join(', ')})`
}

/** All pages of the sums. */
function useEntries(by: Group, from: string, to: string): Entries {
  const [state, setState] = useState<Entries>(NOTHING)
  useEffect(() => {
    const leaving = new AbortController()
    const { signal } = leaving
    const read = async (): Promise<void> => {
      const entries: UsageEntry[] = []
      let lists: Entries['lists'] = {}
      let after: string | null | undefined
      while (after !== null) {
        const page = await client.readUsage({ by, from, to, limit: 500, after }, { signal })
        entries.push(...page.data)
        lists = page.price_lists
        after = page.next
      }
      setState({ entries, lists, error: undefined })
    }
    read().catch((error: unknown) => {
      if (!signal.aborted) setState({ ...NOTHING, error })
    })
    return () => leaving.abort()
  }, [by, from, to])
  return state
}

/** What a cost is when some models have no known price. */
function costOf(entries: readonly UsageEntry[]): string {
  const known = entries.flatMap(({ cost_usd: cost }) => cost ?? [])
  const isWhole = entries.every(({ unpriced_models: models = [] }) => models.length === 0)
  if (known.length === 0) return entries.length === 0 || !isWhole ? 'unknown' : dollars(0)
  const sum = dollars(known.reduce((all, cost) => all + cost, 0))
  return isWhole ? sum : `${sum} and unknown`
}

function Totals({ entries }: { readonly entries: readonly UsageEntry[] }) {
  const sum = (pick: (usage: UsageEntry['usage']) => number | null): string => {
    const known = entries.flatMap(({ usage }) => pick(usage) ?? [])
    return known.length === 0 ? 'unknown' : compact(known.reduce((all, one) => all + one, 0))
  }
  const completions = entries.reduce((all, entry) => all + entry.completions, 0)
  const figures = [
    ['Completions', count(completions)],
    ['Input tokens', sum((usage) => usage.input_tokens)],
    ['of which cached', sum((usage) => usage.cached_input_tokens)],
    ['Output tokens', sum((usage) => usage.output_tokens)],
    ['Cost', completions === 0 ? 'none' : costOf(entries)],
  ]
  return (
    <dl class="figures">
      {figures.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  )
}

function GroupTable({ by, entries }: { readonly by: Group; readonly entries: readonly UsageEntry[] }) {
  if (entries.length === 0) return <p class="quiet edge">Nothing was used in these days.</p>
  const total = ({ usage }: UsageEntry): number => usage.total_tokens ?? 0
  const sorted = entries.toSorted((left, right) => total(right) - total(left))
  const most = Math.max(1, ...entries.map(total))
  return (
    <div class="table-scroll" tabIndex={0} role="region" aria-label={`Usage by ${by}`}>
      <table class="sums">
        <thead>
          <tr>
            <th scope="col">{by}</th>
            <th scope="col">tokens</th>
            <th scope="col" class="number">
              in
            </th>
            <th scope="col" class="number">
              out
            </th>
            <th scope="col" class="number">
              completions
            </th>
            <th scope="col" class="number">
              cost
            </th>
          </tr>
        </thead>
        <tbody>
          {sorted.map((entry) => (
            <tr key={entry.key}>
              <th scope="row">
                {by === 'session' && entry.key !== null ? (
                  <a href={href(`/sessions/${encodeURIComponent(entry.key)}`)}>{entry.key}</a>
                ) : (
                  (entry.key ?? `no ${by}`)
                )}
              </th>
              <td class="meter-cell">
                <span class="meter" aria-hidden="true">
                  <span class="assistant" style={{ width: `${(100 * total(entry)) / most}%` }} />
                </span>
                {tokens(entry.usage.total_tokens)}
              </td>
              <td class="number">{tokens(entry.usage.input_tokens)}</td>
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
  )
}

function Choice<Value extends string | number>(props: {
  readonly name: string
  readonly values: readonly Value[]
  readonly chosen: Value
  readonly words: (value: Value) => string
  readonly choose: (value: Value) => void
}) {
  return (
    <div class="row" role="group" aria-label={props.name}>
      {props.values.map((value) => (
        <button
          key={value}
          type="button"
          class="chip"
          aria-pressed={value === props.chosen}
          onClick={() => props.choose(value)}
        >
          {props.words(value)}
        </button>
      ))}
    </div>
  )
}
