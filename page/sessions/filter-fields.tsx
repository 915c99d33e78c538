import { useEffect, useState } from 'preact/hooks'
import type { Session } from '../../functions/client/api-types.ts'
import { ChangedField } from '../shell/changed-field.tsx'
import { ProgramSelect } from './program-select.tsx'
import { originOf } from './session-facts.ts'
import { countFilters } from './session-filters.ts'
import type { SessionFilters } from './session-filters.ts'
import type { SessionListStore } from './session-list-store.ts'

const STATUSES = ['queued', 'running', 'paused', 'completed', 'failed', 'cancelled'] as const
/** Delay after the last key before a request is sent. */
const PAUSE_MS = 150

/** Shows the filters of the list. The server applies them. */
export function FilterFields({ store }: { readonly store: SessionListStore }) {
  const { filters, sessions } = store.get()
  return (
    <div class="filters">
      <WordsField store={store} />
      <MoreFilters filters={filters} sessions={sessions} change={store.filter} />
    </div>
  )
}

function WordsField({ store }: { readonly store: SessionListStore }) {
  const [typed, setTyped] = useState('')
  useEffect(() => {
    const { filters } = store.get()
    if (typed.trim() === filters.words) return undefined
    const timer = setTimeout(() => store.filter({ ...store.get().filters, words: typed.trim() }), PAUSE_MS)
    return () => clearTimeout(timer)
  }, [typed])
  return (
    <input
      type="search"
      value={typed}
      maxLength={1_000}
      placeholder="Title or first message"
      aria-label="Filter sessions by title or first message"
      onInput={(event) => setTyped(event.currentTarget.value)}
    />
  )
}

interface FilterProps {
  readonly filters: SessionFilters
  /** Sessions whose values are offered as choices. */
  readonly sessions: readonly Session[]
  readonly change: (filters: SessionFilters) => void
}

function MoreFilters({ filters, sessions, change }: FilterProps) {
  const set = countFilters(filters)
  const folders = sessions.map((session) => originOf(session).folder)
  return (
    <details class="more-filters">
      <summary>Filters{set === 0 ? '' : ` (${set})`}</summary>
      <label>
        Folder
        <ChangedField list="folders" value={filters.folder} change={(folder) => change({ ...filters, folder })} />
      </label>
      <label>
        Program
        <ProgramSelect
          value={filters.source}
          sources={sessions.map((session) => originOf(session).source)}
          change={(source) => change({ ...filters, source })}
        />
      </label>
      <label>
        Owner
        <ChangedField list="owners" value={filters.owner} change={(owner) => change({ ...filters, owner })} />
      </label>
      <label>
        Agent
        <ChangedField list="agents" value={filters.agent} change={(agent) => change({ ...filters, agent })} />
      </label>
      <label>
        Latest run
        <select
          value={filters.status}
          onChange={(event) => change({ ...filters, status: event.currentTarget.value as SessionFilters['status'] })}
        >
          <option value="">any</option>
          {STATUSES.map((status) => (
            <option key={status}>{status}</option>
          ))}
        </select>
      </label>
      <Choices id="folders" values={folders} />
      <Choices id="owners" values={sessions.map(({ owner }) => owner ?? undefined)} />
      <Choices id="agents" values={sessions.map(({ agent }) => agent)} />
    </details>
  )
}

function Choices({ id, values }: { readonly id: string; readonly values: readonly (string | undefined)[] }) {
  return (
    <datalist id={id}>
      {distinct(values).map((value) => (
        <option key={value} value={value} />
      ))}
    </datalist>
  )
}

const distinct = (values: readonly (string | undefined)[]): readonly string[] =>
  [...new Set(values.flatMap((value) => value || []))].toSorted()
