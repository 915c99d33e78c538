import { useEffect, useRef } from 'preact/hooks'
import type { Session } from '../../functions/client/api-types.ts'
import { BusyButton } from '../shell/busy-button.tsx'
import { Failure } from '../shell/failure.tsx'
import { useFocusKept } from '../shell/focus-kept.ts'
import { href } from '../shell/place.ts'
import { useStore } from '../shell/store.ts'
import { clock, day, whole } from '../text/times.ts'
import { plural } from '../text/words.ts'
import { groupByDay, timeOf } from './day-groups.ts'
import { FilterFields } from './filter-fields.tsx'
import { countFilters } from './session-filters.ts'
import { folderName, originOf, workFacts } from './session-facts.ts'
import { titleOf } from './session-title.tsx'
import type { SessionList, SessionListStore } from './session-list-store.ts'

/**
 * With a filter, older pages are read automatically until `ENOUGH` sessions match or `MAX_AUTOMATIC_PAGES` pages are
 * read. Further pages are read on request.
 */
const ENOUGH = 20
const MAX_AUTOMATIC_PAGES = 10

/** Shows all sessions with the status of their latest run. `current`: the session that is shown. */
export function SessionListView({
  store,
  current,
}: {
  readonly store: SessionListStore
  readonly current: string | undefined
}) {
  const { sessions, next, loading, filters, isCurrent, pagesRead, error } = useStore(store)
  const isFiltered = filters.words !== '' || countFilters(filters) > 0
  const isEnough = sessions.length >= ENOUGH || pagesRead >= MAX_AUTOMATIC_PAGES
  const wantsMore = isFiltered && isCurrent && next !== null && !isEnough && !loading && error === undefined
  useEffect(() => {
    if (wantsMore) void store.more()
  }, [wantsMore, next])
  const element = useRef<HTMLElement>(null)
  useFocusKept(element, '.session-row')
  return (
    <nav class="sessions" aria-label="Sessions" ref={element}>
      <FilterFields store={store} />
      {error === undefined ? null : <Failure error={error} />}
      {groupByDay(sessions, day).map(({ name = 'No message yet', sessions: ofDay }) => (
        <section key={name} class="day" aria-label={name}>
          <h2>{name}</h2>
          <ul>
            {ofDay.map((session) => (
              <SessionRow key={session.id} session={session} isCurrent={session.id === current} />
            ))}
          </ul>
        </section>
      ))}
      <ListEnd list={store.get()} isFiltered={isFiltered} />
      {next === null ? null : (
        <BusyButton class="more" isBusy={loading} onClick={() => void store.more()}>
          Older sessions
        </BusyButton>
      )}
    </nav>
  )
}

/** Shows how many sessions match, or why no session is shown. */
function ListEnd({ list, isFiltered }: { readonly list: SessionList; readonly isFiltered: boolean }) {
  const { sessions, next, filters, isCurrent, loading } = list
  if (!isCurrent) return loading ? <p class="quiet edge">Loading…</p> : null
  if (!isFiltered) return sessions.length === 0 ? <p class="quiet edge">No session yet.</p> : null
  return (
    <p class="quiet edge" role="status">
      {fitText(sessions.length, next !== null)}{' '}
      {filters.words === '' ? null : (
        <a href={href(`/search?q=${encodeURIComponent(filters.words)}`)}>Search what was said</a>
      )}
    </p>
  )
}

function fitText(fitting: number, hasMore: boolean): string {
  if (fitting === 0) return hasMore ? 'No session fits so far.' : 'No session fits.'
  return `${plural(fitting, 'session')} ${fitting === 1 ? 'fits' : 'fit'}${hasMore ? ' so far' : ''}.`
}

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
