import { useEffect, useRef, useState } from 'preact/hooks'
import { ContextView } from '../context/context.tsx'
import { ConversationView } from '../conversation/conversation.tsx'
import { openConversation } from '../conversation/conversation-store.ts'
import type { ConversationStore } from '../conversation/conversation-store.ts'
import { takeFirst } from '../conversation/drafts.ts'
import { Failure } from '../shell/failure.tsx'
import { href } from '../shell/place.ts'
import { useStore } from '../shell/store.ts'
import { Timeline } from '../tools/timeline.tsx'
import { compact, plural } from '../shell/words.ts'
import { DeleteSession } from './delete-session.tsx'
import { TakeAlong } from './take-along.tsx'

interface Props {
  readonly session: string
  readonly view: string
  readonly target: string | undefined
  /** Whether no field is to take the focus. */
  readonly stepped: boolean
  /** Told when the session is gone. */
  readonly changed: (gone: string) => void
}

/** One session: its head, and one of its views. */
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
  const { store, session, view, changed } = props
  const { session: known, error } = useStore(store)
  const isRefused = known === undefined && error !== undefined
  const title = known?.title ?? session
  useEffect(() => {
    document.title = `${title} · Tooltrail`
  }, [title])
  return (
    <section class="session" aria-label={title}>
      <header class="session-head">
        <a class="back" href={href('/')} aria-label="All sessions">
          ‹
        </a>
        {isRefused ? <h1>{title}</h1> : <Title store={store} title={title} />}
        {known === undefined ? null : (
          <span class="quiet session-facts">
            {known.agent}
            {known.usage.runs === 0 ? '' : `, ${plural(known.usage.runs, 'run')}`}
            {known.usage.total_tokens === null ? '' : `, ${compact(known.usage.total_tokens)} tokens`}
          </span>
        )}
        {isRefused ? null : (
          <>
            <Tabs session={session} view={view} />
            <TakeAlong session={session} />
            <DeleteSession session={session} title={title} changed={changed} />
          </>
        )}
      </header>
      {isRefused ? (
        <div class="view">
          <Failure error={error} />
        </div>
      ) : (
        <View {...props} />
      )}
    </section>
  )
}

function View({ store, session, view, target, stepped }: OpenProps) {
  const { log } = useStore(store)
  if (view === 'timeline') return <Timeline store={store} session={session} />
  if (view === 'context') return <ContextView session={session} changed={log.messages.at(-1)?.id} />
  return <ConversationView store={store} session={session} target={target} stepped={stepped} />
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

function Title({ store, title }: { readonly store: ConversationStore; readonly title: string }) {
  const [editing, setEditing] = useState(false)
  const field = useRef<HTMLInputElement>(null)
  const button = useRef<HTMLButtonElement>(null)
  /** Whether it was ended by a key, which leaves the focus with the title. */
  const byKey = useRef(false)
  useEffect(() => {
    if (editing) field.current?.focus()
    else if (byKey.current) button.current?.focus()
    byKey.current = false
  }, [editing])
  const done = (text: string): void => {
    setEditing(false)
    if (text.trim() !== title) void store.rename(text.trim())
  }
  if (!editing)
    return (
      <h1>
        <button ref={button} type="button" class="title" title="Rename" onClick={() => setEditing(true)}>
          {title}
        </button>
      </h1>
    )
  return (
    <h1>
      <input
        ref={field}
        class="title-field"
        aria-label="Title"
        defaultValue={title}
        maxLength={500}
        onBlur={(event) => {
          if (!byKey.current) done(event.currentTarget.value)
        }}
        onKeyDown={(event) => {
          if (event.key !== 'Enter' && event.key !== 'Escape') return
          byKey.current = true
          if (event.key === 'Enter') done(event.currentTarget.value)
          else setEditing(false)
        }}
      />
    </h1>
  )
}
