import { ProgramSelect } from '../sessions/program-select.tsx'
import { ChangedField } from '../shell/changed-field.tsx'
import { FILTERS } from './use-search.ts'

const ROLES = { user: 'inputs', assistant: 'completions', tool_call: 'tool calls', tool_result: 'tool results' }
const STATUSES = ['running', 'waiting', 'completed', 'error', 'interrupted', 'cancelled', 'denied']
const SORTS = { '': 'best first', newest: 'newest first', oldest: 'oldest first' }
const TEXTS = ['folder', 'tool', 'session', 'agent', 'owner'] as const

/** Filters that are always visible. */
const SHOWN = new Set(['role', 'sort', 'dates'])

interface Props {
  readonly query: URLSearchParams
  readonly change: (values: { readonly [name: string]: string }) => void
}

/** Shows roles as a row of buttons, and the other filters in a collapsible section. */
export function SearchFilters({ query, change }: Props) {
  const role = query.get('role') ?? ''
  const others = Object.keys(FILTERS).filter((name) => !SHOWN.has(name) && (query.get(name) ?? '') !== '').length
  return (
    <div class="search-filters">
      <div class="row" role="group" aria-label="What kind of entry">
        {Object.entries({ '': 'everything', ...ROLES }).map(([value, caption]) => (
          <button
            key={value}
            type="button"
            class="chip"
            aria-pressed={role === value}
            onClick={() => change({ role: value })}
          >
            {caption}
          </button>
        ))}
        <span class="grow" />
        <SortSelect query={query} change={change} />
      </div>
      <details class="more-filters" open={others > 0}>
        <summary>More filters{others === 0 ? '' : ` (${others})`}</summary>
        <FilterFields query={query} change={change} />
      </details>
    </div>
  )
}

function SortSelect({ query, change }: Props) {
  return (
    <select
      class="sort"
      aria-label="Order of the hits"
      value={query.get('sort') ?? ''}
      onChange={(event) => change({ sort: event.currentTarget.value })}
    >
      {Object.entries(SORTS).map(([value, caption]) => (
        <option key={value} value={value}>
          {caption}
        </option>
      ))}
    </select>
  )
}

function FilterFields({ query, change }: Props) {
  return (
    <div class="filter-fields">
      {TEXTS.map((name) => (
        <label key={name}>
          {name}
          <ChangedField value={query.get(name) ?? ''} change={(value) => change({ [name]: value })} />
        </label>
      ))}
      <label>
        program
        <ProgramSelect value={query.get('source') ?? ''} sources={[]} change={(source) => change({ source })} />
      </label>
      <label>
        state
        <select value={query.get('status') ?? ''} onChange={(event) => change({ status: event.currentTarget.value })}>
          <option value="">any</option>
          {STATUSES.map((status) => (
            <option key={status}>{status}</option>
          ))}
        </select>
      </label>
      {(['since', 'until'] as const).map((name) => (
        <label key={name}>
          {name}
          <input
            type="date"
            value={query.get(name) ?? ''}
            onChange={(event) => change({ [name]: event.currentTarget.value })}
          />
        </label>
      ))}
    </div>
  )
}
