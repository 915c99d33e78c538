import { ChangedField } from '../shell/changed-field.tsx'

/** The filters of a search, by their names in the address and the API. */
export const FILTERS = ['role', 'tool', 'status', 'session', 'agent', 'owner', 'since', 'until'] as const

const ROLES = { user: 'inputs', assistant: 'completions', tool_call: 'tool calls', tool_result: 'tool results' }
const STATUSES = ['running', 'waiting', 'completed', 'error', 'interrupted', 'cancelled', 'denied']
const TEXTS = ['tool', 'session', 'agent', 'owner'] as const

interface Props {
  readonly query: URLSearchParams
  readonly change: (values: { readonly [name: string]: string }) => void
}

/** Roles as a row of buttons, all other filters behind a fold. */
export function SearchFilters({ query, change }: Props) {
  const role = query.get('role') ?? ''
  const others = FILTERS.filter((name) => name !== 'role' && (query.get(name) ?? '') !== '').length
  return (
    <div class="search-filters">
      <div class="row" role="group" aria-label="What kind of entry">
        {Object.entries({ '': 'everything', ...ROLES }).map(([value, words]) => (
          <button
            key={value}
            type="button"
            class="chip"
            aria-pressed={role === value}
            onClick={() => change({ role: value })}
          >
            {words}
          </button>
        ))}
      </div>
      <details class="more-filters" open={others > 0}>
        <summary>More filters{others === 0 ? '' : ` (${others})`}</summary>
        <div class="filter-fields">
          {TEXTS.map((name) => (
            <label key={name}>
              {name}
              <ChangedField value={query.get(name) ?? ''} change={(value) => change({ [name]: value })} />
            </label>
          ))}
          <label>
            state
            <select
              value={query.get('status') ?? ''}
              onChange={(event) => change({ status: event.currentTarget.value })}
            >
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
      </details>
    </div>
  )
}
