import { useEffect, useRef } from 'preact/hooks'
import type { Session } from '../../functions/client/api-types.ts'
import { ChangedField } from '../shell/changed-field.tsx'
import { Failure } from '../shell/failure.tsx'
import { href } from '../shell/place.ts'
import { useStore } from '../shell/store.ts'
import { clock, day, whole } from '../shell/times.ts'
import { count, plural } from '../shell/words.ts'
import { groupByDay, timeOf } from './day-groups.ts'
import { folderName, originOf, workFacts } from './session-facts.ts'
import { titleOf } from './session-title.tsx'
import type { SessionFilters, SessionListStore } from './session-list-store.ts'
import { fitting } from './session-pages.ts'

const STATUSES = ['queued', 'running', 'paused', 'completed', 'failed', 'cancelled'] as const

/** A filter fetches older sessions until so many fit, or so many were looked at; further ones on request. */
const ENOUGH = 20
const MAX_FETCHED_SESSIONS = 1_000

/** All sessions, with what their latest run does. `current`: the one that is shown. */
export function SessionListView({
  store,
  current,
}: {
  readonly store: SessionListStore
  readonly current: string | undefined
}) {
  const { sessions, next, words, loading, filters, error } = useStore(store)
  const wanted = words.trim()
  const shown = fitting(sessions, words)
  const isEnough = shown.length >= ENOUGH || sessions.length >= MAX_FETCHED_SESSIONS
  const wantsMore = wanted !== '' && next !== null && !isEnough && !loading && error === undefined
  useEffect(() => {
    if (wantsMore) void store.more()
  }, [wantsMore, sessions.length])
  return (
    <nav class="sessions" aria-label="Sessions">
      <div class="filters">
        <input
          type="search"
          value={words}
          placeholder="Title, id or owner"
          aria-label="Filter sessions by title, id or owner"
          onInput={(event) => store.narrow(event.currentTarget.value)}
        />
        <MoreFilters filters={filters} sessions={sessions} change={store.filter} />
      </div>
      {error === undefined ? null : <Failure error={error} />}
      {groupByDay(shown, day).map(({ name = 'No message yet', sessions: ofDay }) => (
        <section key={name} class="day" aria-label={name}>
          <h2>{name}</h2>
          <ul>
            {ofDay.map((session) => (
              <SessionRow key={session.id} session={session} isCurrent={session.id === current} />
            ))}
          </ul>
        </section>
      ))}
      {loading && sessions.length === 0 ? <p class="quiet edge">Loading…</p> : null}
      {!loading && wanted === '' && sessions.length === 0 ? <p class="quiet edge">No session yet.</p> : null}
      {wanted === '' || sessions.length === 0 ? null : (
        <p class="quiet edge" role="status">
          {coverage(shown.length, sessions.length, next !== null)}{' '}
          <a href={href(`/search?q=${encodeURIComponent(wanted)}`)}>Search what was said</a>
        </p>
      )}
      {next === null ? null : (
        <button type="button" class="more" disabled={loading} onClick={() => void store.more()}>
          Older sessions
        </button>
      )}
    </nav>
  )
}

/** How many fit, and of which sessions: older ones may fit, too. */
const coverage = (fitting: number, looked: number, hasMore: boolean): string =>
  `${fitting === 0 ? 'None' : count(fitting)} of ${hasMore ? `the ${count(looked)} sessions used last` : plural(looked, 'session')} ${fitting === 1 || fitting === 0 ? 'fits' : 'fit'}.`

function SessionRow({ session, isCurrent }: { readonly session: Session; readonly isCurrent: boolean }) {
  const { id, owner, run } = session
  const time = timeOf(session)
  const { program, folder } = originOf(session)
  const link = useRef<HTMLAnchorElement>(null)
  useEffect(() => {
    if (isCurrent) link.current?.scrollIntoView({ block: 'nearest' })
  }, [isCurrent])
  const where = [folder === undefined ? undefined : folderName(folder), program, owner ?? undefined]
  const details = [...where.filter((text) => text !== undefined), ...workFacts(session)]
  return (
    <li>
      <a
        ref={link}
        href={href(`/sessions/${encodeURIComponent(id)}`)}
        aria-current={isCurrent ? 'page' : undefined}
        class="session-row"
      >
        <span class={`dot ${run?.status ?? 'none'}`} title={run?.status ?? 'no run yet'} />
        <span class="session-title">{titleOf(session)}</span>
        {time === undefined ? (
          <span />
        ) : (
          <time dateTime={time} title={whole(time)}>
            {clock(time)}
          </time>
        )}
        <span class="session-details" title={folder}>
          <span class="visually-hidden">{run?.status ?? 'no run yet'}. </span>
          {details.join(' · ')}
        </span>
      </a>
    </li>
  )
}

interface FilterProps {
  readonly filters: SessionFilters
  readonly sessions: readonly Session[]
  readonly change: (filters: SessionFilters) => void
}

function MoreFilters({ filters, sessions, change }: FilterProps) {
  const set = Object.values(filters).filter((value) => value !== '').length
  const owners = [...new Set(sessions.flatMap(({ owner }) => owner ?? []))].toSorted()
  const agents = [...new Set(sessions.map(({ agent }) => agent))].toSorted()
  return (
    <details class="more-filters">
      <summary>Filters{set === 0 ? '' : ` (${set})`}</summary>
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
      <datalist id="owners">
        {owners.map((owner) => (
          <option key={owner} value={owner} />
        ))}
      </datalist>
      <datalist id="agents">
        {agents.map((agent) => (
          <option key={agent} value={agent} />
        ))}
      </datalist>
    </details>
  )
}
