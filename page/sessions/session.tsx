import { useEffect, useState } from 'preact/hooks'
import { ContextView } from '../context/context.tsx'
import { ConversationView } from '../conversation/conversation.tsx'
import { openConversation } from '../conversation/conversation-store.ts'
import type { ConversationStore } from '../conversation/conversation-store.ts'
import { href } from '../shell/place.ts'
import { useStore } from '../shell/store.ts'
import { Timeline } from '../tools/timeline.tsx'
import { compact, plural } from '../shell/words.ts'
import { TakeAlong } from './take-along.tsx'

interface Props {
  readonly session: string
  readonly view: string
  readonly target: string | undefined
}

/** One session: its head, and one of its views. */
export function SessionView({ session, view, target }: Props) {
  const [store, setStore] = useState<ConversationStore>()
  useEffect(() => {
    const opened = openConversation(session, target)
    setStore(opened)
    return () => opened.close()
  }, [session])
  if (store === undefined) return null
  return <OpenSession key={session} store={store} session={session} view={view} target={target} />
}

function OpenSession({ store, session, view, target }: Props & { readonly store: ConversationStore }) {
  const { session: known, log } = useStore(store)
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
        <Title store={store} title={title} />
        {known === undefined ? null : (
          <span class="quiet session-facts">
            {known.agent}, {plural(known.usage.runs, 'run')}
            {known.usage.total_tokens === null ? '' : `, ${compact(known.usage.total_tokens)} tokens`}
          </span>
        )}
        <Tabs session={session} view={view} />
        <TakeAlong session={session} />
      </header>
      {view === 'timeline' ? (
        <Timeline store={store} session={session} />
      ) : view === 'context' ? (
        <ContextView session={session} changed={log.messages.at(-1)?.id} />
      ) : (
        <ConversationView store={store} session={session} target={target} />
      )}
    </section>
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

function Title({ store, title }: { readonly store: ConversationStore; readonly title: string }) {
  const [editing, setEditing] = useState(false)
  if (!editing)
    return (
      <h1>
        <button type="button" class="title" title="Rename" onClick={() => setEditing(true)}>
          {title}
        </button>
      </h1>
    )
  const done = (text: string): void => {
    setEditing(false)
    if (text.trim() !== title) void store.rename(text.trim())
  }
  return (
    <input
      class="title-field"
      aria-label="Title"
      value={title}
      maxLength={500}
      ref={(element) => element?.focus()}
      onBlur={(event) => done(event.currentTarget.value)}
      onKeyDown={(event) => {
        if (event.key === 'Enter') event.currentTarget.blur()
        if (event.key === 'Escape') setEditing(false)
      }}
    />
  )
}
