import type { ComponentChildren } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import type { UsageEntry, UsagePage } from '../../functions/client/api-types.ts'
import { client } from '../shell/api.ts'
import { Failure } from '../shell/failure.tsx'
import { go, href, usePlace } from '../shell/place.ts'
import { month } from '../text/times.ts'
import { compact, count } from '../text/words.ts'
import { costOf, MEASURES } from './bars.ts'
import type { Measure } from './bars.ts'
import { DayChart, daysBetween } from './day-chart.tsx'
import { GroupChart } from './group-chart.tsx'
import type { Group } from './group-name.tsx'
import { SumsTable } from './sums-table.tsx'

const GROUPS = ['agent', 'model', 'owner', 'session'] as const
const PERIODS = [7, 30, 90] as const
const DAY_MS = 86_400_000

/** Shows tokens and costs, by day and by agent, model, owner or session. */
export function UsageView() {
  const { query } = usePlace()
  const days = PERIODS.find((one) => String(one) === query.get('days')) ?? 30
  const by = GROUPS.find((one) => one === query.get('by')) ?? 'agent'
  const measure = MEASURES.find((one) => one === query.get('measure')) ?? 'tokens'
  const to = new Date().toISOString().slice(0, 10)
  const from = new Date(Date.parse(to) - (days - 1) * DAY_MS).toISOString().slice(0, 10)
  const daily = useEntries('day', from, to)
  const groups = useEntries(by, from, to)
  useEffect(() => {
    document.title = 'Usage · Tooltrail'
  }, [])
  const show: Show = (next) =>
    go(`/usage?${new URLSearchParams({ days: String(days), by, measure, ...next }).toString()}`, { replace: true })
  return (
    <div class="view usage" tabIndex={0} role="region" aria-label="Usage">
      <Head days={days} measure={measure} show={show} />
      <Read entries={daily}>
        {(entries) =>
          entries.length === 0 ? (
            <NothingUsed days={days} />
          ) : (
            <>
              <Totals entries={entries} />
              <section class="card" aria-label="By day">
                <h2>{measure === 'tokens' ? 'Tokens' : 'Costs'} by day</h2>
                <DayChart entries={entries} days={daysBetween(from, to)} measure={measure} />
                <SumsTable by="day" entries={entries} />
              </section>
            </>
          )
        }
      </Read>
      {daily?.entries.length === 0 ? null : <ByGroup by={by} groups={groups} measure={measure} show={show} />}
      <p class="quiet small">
        Days are those of UTC. Costs are list prices{listsOf(daily?.lists ?? {})}. A model without a price there costs
        an unknown amount.
      </p>
    </div>
  )
}

function NothingUsed({ days }: { readonly days: number }) {
  return (
    <section class="card">
      <p class="edge">
        <strong>Nothing was used in the last {days} days.</strong>
        <br />
        <span class="quiet">Tokens and costs appear here with the first answer of an agent.</span>
      </p>
    </section>
  )
}

/** Shows other days, another grouping or another measure. The address stores the choice. */
type Show = (next: Readonly<Partial<Record<'days' | 'by' | 'measure', string>>>) => void

function Head(props: { readonly days: number; readonly measure: Measure; readonly show: Show }) {
  return (
    <header class="row">
      <a class="back" href={href('/')} aria-label="All sessions">
        ‹
      </a>
      <h1>Usage</h1>
      <span class="grow" />
      <Choice
        name="Period"
        values={PERIODS}
        chosen={props.days}
        label={(value) => `${value} days`}
        choose={(value) => props.show({ days: String(value) })}
      />
      <Choice
        name="Measure"
        values={MEASURES}
        chosen={props.measure}
        label={(value) => value}
        choose={(value) => props.show({ measure: value })}
      />
    </header>
  )
}

function ByGroup(props: {
  readonly by: (typeof GROUPS)[number]
  readonly groups: Entries | undefined
  readonly measure: Measure
  readonly show: Show
}) {
  const { by, groups, measure } = props
  return (
    <section class="card" aria-label="By group">
      <header class="row">
        <h2>By {by}</h2>
        <span class="grow" />
        <Choice
          name="Group"
          values={GROUPS}
          chosen={by}
          label={(value) => value}
          choose={(value) => props.show({ by: value })}
        />
      </header>
      <Read entries={groups}>
        {(entries) => (
          <>
            <GroupChart by={by} entries={entries} measure={measure} />
            <SumsTable by={by} entries={entries} />
          </>
        )}
      </Read>
    </section>
  )
}

/** Shows the sums. Before they are read, shows that they are loading. If they cannot be read, shows the error. */
function Read(props: {
  readonly entries: Entries | undefined
  readonly children: (entries: readonly UsageEntry[]) => ComponentChildren
}) {
  const { entries } = props
  if (entries === undefined) return <p class="quiet edge">Loading…</p>
  return entries.error === undefined ? <>{props.children(entries.entries)}</> : <Failure error={entries.error} />
}

interface Entries {
  /** Name of the request. */
  readonly name: string
  readonly entries: readonly UsageEntry[]
  readonly lists: UsagePage['price_lists']
  readonly error: unknown
}

/** Returns the months of the price lists, such as ` (anthropic: November 2026)`. */
function listsOf(lists: Entries['lists']): string {
  const named = Object.entries(lists).map(([provider, time]) => `${provider}: ${month(time)}`)
  return named.length === 0 ? '' : ` (${named.join(', ')})`
}

/** Reads all pages of the sums; undefined until they are read. */
function useEntries(by: Group, from: string, to: string): Entries | undefined {
  const name = `${by} ${from} ${to}`
  const [state, setState] = useState<Entries>()
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
      setState({ name, entries, lists, error: undefined })
    }
    read().catch((error: unknown) => {
      if (!signal.aborted) setState({ name, entries: [], lists: {}, error })
    })
    return () => leaving.abort()
  }, [by, from, to])
  return state?.name === name ? state : undefined
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
    ['Cost', costOf(entries)],
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

function Choice<Value extends string | number>(props: {
  readonly name: string
  readonly values: readonly Value[]
  readonly chosen: Value
  readonly label: (value: Value) => string
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
          {props.label(value)}
        </button>
      ))}
    </div>
  )
}
