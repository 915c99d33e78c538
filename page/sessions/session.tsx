import { useEffect, useMemo, useState } from 'preact/hooks'
import type { Session } from '../../functions/client/api-types.ts'
import { ContextView } from '../context/context.tsx'
import { ConversationView } from '../conversation/conversation.tsx'
import { openConversation } from '../conversation/conversation-store.ts'
import type { ConversationStore } from '../conversation/conversation-store.ts'
import { takeFirst } from '../conversation/drafts.ts'
import { Failure, isNotFound } from '../shell/failure.tsx'
import { href } from '../shell/place.ts'
import { patternOf } from '../text/word-pattern.ts'
import { useStore } from '../shell/store.ts'
import { Timeline } from '../tools/timeline.tsx'
import { TargetWords } from '../tools/tool-call.tsx'
import { DeleteSession } from './delete-session.tsx'
import { originOf, workFacts } from './session-facts.ts'
import { SessionTitle, titleOf } from './session-title.tsx'
import { TakeAlong } from './fork-or-export.tsx'

interface Props {
  readonly session: string
  /** The session's entry in the list. It is shown until the session has been read. */
  readonly listed: Session | undefined
  readonly view: string
  readonly target: string | undefined
  /** Query of the page's address. */
  readonly query: URLSearchParams
  /** If true, no field may take the focus. */
  readonly stepped: boolean
  /** Called when the session has a new title, or was deleted. */
  readonly changed: (gone?: string) => void
}

/** Shows one session: its head, and one of its views. */
export function SessionView(props: Props) {
  const { session, target } = props
  const [store, setStore] = useState<ConversationStore>()
  useEffect(() => {
    const opened = openConversation(session, target)
    setStore(opened)
    const first = takeFirst(session)
    if (first !== undefined) void opened.send(first, 'queue')
    return () => opened.close()
  }, [session])
  if (store === undefined) return null
  return <OpenSession key={session} {...props} store={store} />
}

type OpenProps = Props & { readonly store: ConversationStore }

function OpenSession(props: OpenProps) {
  const { store, changed } = props
  const { session: read, error } = useStore(store)
  const title = read?.title
  const [before, setBefore] = useState(title)
  useEffect(() => {
    if (before !== undefined && title !== before) changed()
    setBefore(title)
  }, [title])
  if (read === undefined && error !== undefined) return <Refused error={error} />
  const session = read ?? props.listed
  return (
    <section class="session" aria-label={session === undefined ? 'Session' : titleOf(session)}>
      <SessionHead {...props} known={session} />
      <View {...props} />
    </section>
  )
}

/** Shows the reason why a session cannot be opened. */
function Refused({ error }: { readonly error: unknown }) {
  const isGone = isNotFound(error)
  const title = isGone ? 'Session not found' : 'Session'
  useDocumentTitle(title)
  return (
    <section class="session" aria-label={title}>
      <header class="session-head">
        <Back />
        <h1>{title}</h1>
      </header>
      <div class="view">
        <Failure error={error}>
          {isGone ? (
            <a href={href('/')}>All sessions</a>
          ) : (
            <button type="button" class="link" onClick={() => location.reload()}>
              Try again
            </button>
          )}
        </Failure>
      </div>
    </section>
  )
}

const Back = () => (
  <a class="back" href={href('/')} aria-label="All sessions">
    ‹
  </a>
)

function SessionHead({ known, store, session, view, changed }: OpenProps & { readonly known: Session | undefined }) {
  const title = known === undefined ? '' : titleOf(known)
  useDocumentTitle(title === '' ? 'Session' : title)
  return (
    <header class="session-head">
      <Back />
      <div class="session-name">
        {known === undefined ? <h1>…</h1> : <SessionTitle title={known.title} rename={store.rename} />}
        {known === undefined ? null : <Facts session={known} />}
      </div>
      <Tabs session={session} view={view} />
      <TakeAlong session={session} />
      <DeleteSession session={session} title={title} changed={changed} />
    </header>
  )
}

/** Shows the origin of a session, and how much work it contains. */
function Facts({ session }: { readonly session: Session }) {
  const { program, folder, branch } = originOf(session)
  const where = [program, folder, branch].filter((text) => text !== undefined)
  const facts = [...where, ...workFacts(session)]
  return facts.length === 0 ? null : <p class="quiet session-facts">{facts.join(' · ')}</p>
}

function useDocumentTitle(title: string): void {
  useEffect(() => {
    document.title = `${title} · Tooltrail`
  }, [title])
}

function View({ store, session, view, target, query, stepped }: OpenProps) {
  const { log } = useStore(store)
  const words = query.get('words') ?? ''
  const pattern = useMemo(() => patternOf(words), [words])
  if (view === 'timeline') return <Timeline store={store} session={session} />
  if (view === 'context') return <ContextView session={session} changed={log.messages.at(-1)?.id} />
  return (
    <TargetWords.Provider value={pattern}>
      <ConversationView
        store={store}
        session={session}
        target={target}
        found={query.get('in') ?? ''}
        stepped={stepped}
      />
    </TargetWords.Provider>
  )
}

const VIEWS = { '': 'Conversation', timeline: 'Timeline', context: 'What the model sees' }

function Tabs({ session, view }: { readonly session: string; readonly view: string }) {
  return (
    <nav class="tabs" aria-label="Views of this session">
      {Object.entries(VIEWS).map(([name, words]) => (
        <a
          key={name}
          href={href(`/sessions/${encodeURIComponent(session)}${name === '' ? '' : `/${name}`}`)}
          aria-current={name === view ? 'page' : undefined}
        >
          {words}
        </a>
      ))}
    </nav>
  )
}
