import { useEffect, useRef, useState } from 'preact/hooks'
import type { Session } from '../../functions/client/api-types.ts'
import { SessionListView } from '../sessions/session-list.tsx'
import { openSessionList } from '../sessions/session-list-store.ts'
import type { SessionListStore } from '../sessions/session-list-store.ts'
import { SearchView } from '../search/search.tsx'
import { NewSession } from '../sessions/new-session.tsx'
import { SessionView } from '../sessions/session.tsx'
import { UsageView } from '../usage/usage.tsx'
import { keepKey, keyNeeded, readKey } from './api.ts'
import { KeyForm } from './key-form.tsx'
import { useKeys } from './keys.ts'
import { decoded, go, href, usePlace } from './place.ts'
import type { Place } from './place.ts'
import { useStore } from './store.ts'
import { nextTheme, setTheme, theme } from './theme.ts'

/** The page: the sessions on the left, and one view next to them. */
export function App() {
  if (useStore(keyNeeded)) return <KeyForm />
  return <Shell />
}

function Shell() {
  const place = usePlace()
  const [list, setList] = useState<SessionListStore>()
  useEffect(() => {
    const opened = openSessionList()
    setList(opened)
    return () => opened.close()
  }, [])
  useKeys({
    '/': () => go('/search'),
    j: () => step(list, place, 1),
    k: () => step(list, place, -1),
  })
  const [, section = '', coded = '', view = '', ...deeper] = place.path.split('/')
  const session = decoded(coded)
  const isHome = section === ''
  const main = useRef<HTMLElement>(null)
  return (
    <div class={`shell${isHome ? ' home' : ''}`}>
      <aside class="side">
        <button type="button" class="skip" onClick={() => main.current?.focus()}>
          Skip the sessions
        </button>
        <SideHead section={section} />
        {list === undefined ? null : (
          <SessionListView store={list} current={section === 'sessions' ? session : undefined} />
        )}
      </aside>
      <main class="main" ref={main} tabIndex={-1}>
        <View
          place={place}
          section={deeper.length > 0 ? 'nothing' : section}
          session={session}
          listed={list?.get().sessions.find(({ id }) => id === session)}
          view={view}
          changed={(gone) => {
            if (gone !== undefined) list?.drop(gone)
            void list?.refresh()
          }}
        />
      </main>
    </div>
  )
}

/** Shows the next or the previous session of the list. */
function step(list: SessionListStore | undefined, { path }: Place, by: 1 | -1): void {
  const sessions = list?.get().sessions ?? []
  const at = sessions.findIndex(({ id }) => path.split('/')[2] === encodeURIComponent(id))
  const next = sessions[at === -1 ? 0 : at + by]
  if (next !== undefined) go(`/sessions/${encodeURIComponent(next.id)}`, { stepped: true })
}

interface ViewProps {
  readonly place: Place
  readonly section: string
  readonly session: string
  readonly listed: Session | undefined
  readonly view: string
  /** Called after a session was created or deleted. */
  readonly changed: (gone?: string) => void
}

function View({ place, section, session, listed, view, changed }: ViewProps) {
  if (section === 'sessions' && session !== '')
    return (
      <SessionView
        session={session}
        listed={listed}
        view={view}
        target={place.fragment === '' ? undefined : place.fragment}
        query={place.query}
        stepped={place.stepped}
        changed={changed}
      />
    )
  if (section === 'new' && session === '') return <NewSession changed={changed} />
  if (section === 'search') return <SearchView />
  if (section === 'usage') return <UsageView />
  return section === '' ? <Welcome /> : <Nothing />
}

function SideHead({ section }: { readonly section: string }) {
  const current = useStore(theme)
  useKeys({ n: () => go('/new') })
  return (
    <header class="side-head">
      <div class="row">
        <a class="brand" href={href('/')}>
          Tooltrail
        </a>
        <span class="grow" />
        <button type="button" class="quiet-button" onClick={() => setTheme(nextTheme(current))} title="Light or dark">
          Theme: {current}
        </button>
        {readKey() === undefined ? null : (
          <button type="button" class="quiet-button" onClick={() => keepKey(undefined)}>
            Forget key
          </button>
        )}
      </div>
      <nav class="side-nav" aria-label="Views">
        <a href={href('/search')} aria-current={section === 'search' ? 'page' : undefined}>
          Search <kbd aria-hidden="true">/</kbd>
        </a>
        <a href={href('/usage')} aria-current={section === 'usage' ? 'page' : undefined}>
          Usage
        </a>
      </nav>
      <button type="button" class="primary wide" onClick={() => go('/new')}>
        New session
      </button>
    </header>
  )
}

function Nothing() {
  useEffect(() => {
    document.title = 'Nothing here · Tooltrail'
  }, [])
  return (
    <div class="welcome">
      <h1>There is nothing at this address</h1>
      <p class="quiet">
        Choose a session, or go <a href={href('/')}>back to the start</a>.
      </p>
    </div>
  )
}

function Welcome() {
  useEffect(() => {
    document.title = 'Tooltrail'
  }, [])
  return (
    <div class="welcome">
      <h1>Everything your agents did</h1>
      <p class="quiet">
        Choose a session, or start a new one. The API is described <a href={href('/docs')}>here</a>.
      </p>
      <p class="quiet keys">
        <span>
          <kbd>/</kbd> search
        </span>{' '}
        <span>
          <kbd>n</kbd> new session
        </span>{' '}
        <span>
          <kbd>j</kbd> <kbd>k</kbd> next and previous session
        </span>{' '}
        <span>
          <kbd>c</kbd> write
        </span>{' '}
        <span>
          <kbd>Esc</kbd> stop writing
        </span>
      </p>
    </div>
  )
}
