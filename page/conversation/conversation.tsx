import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import type { Message, Run } from '../../functions/client/api-types.ts'
import { Failure, Problem } from '../shell/failure.tsx'
import { useFocusKept } from '../shell/focus-kept.ts'
import { useStore } from '../shell/store.ts'
import { hasScreenKeyboard } from '../shell/touch.ts'
import { Unbroken } from '../shell/unbroken.tsx'
import { VirtualList } from '../list/virtual-list.tsx'
import { OutputViewer } from '../tools/output-viewer.tsx'
import { ShowOutput } from '../tools/tool-call.tsx'
import { Composer } from './composer.tsx'
import type { ConversationStore } from './conversation-store.ts'
import type { Conversation } from './session-view.ts'
import { DraftView, EntryView } from './entry.tsx'
import { entriesOf, holderOf } from '../log/entries.ts'
import type { Entry } from '../log/entries.ts'
import { focusOn } from './focus-on.ts'
import { isActive } from '../log/log.ts'
import { Waiting } from './waiting.tsx'

interface Props {
  readonly store: ConversationStore
  readonly session: string
  readonly target: string | undefined
  /** Name of the part of a call that contains the words of a search, such as `Result`. */
  readonly found: string
  /** If true, no field may take the focus. */
  readonly stepped: boolean
}

/** Shows a session's log as a live conversation. `target`: the message in the address. */
export function ConversationView(props: Props) {
  const { store, session, target, found, stepped } = props
  const state = useStore(store)
  const { log } = state
  const entries = useMemo(() => entriesOf(log.messages), [log.messages])
  const holder = target === undefined ? undefined : holderOf(entries, target)
  const [viewed, setViewed] = useState<Message>()
  /** Number of inputs sent so far. Each further input scrolls the list to its end. */
  const [sent, setSent] = useState(0)
  const send: typeof store.send = (draft, busy) => {
    setSent((times) => times + 1)
    return store.send(draft, busy)
  }
  const element = useRef<HTMLDivElement>(null)
  useJump(store, target)
  useFocusKept(element, '.scroller')
  return (
    <div class="conversation" ref={element}>
      <ShowOutput.Provider value={setViewed}>
        <VirtualList<Entry>
          label="Conversation"
          items={entries}
          keyOf={(entry) => entry.message.id}
          estimate={(entry) => (entry.message.role === 'user' ? 90 : 140 + 44 * entry.calls.length)}
          render={(entry) => (
            <Unbroken shows={entry}>
              <EntryView entry={entry} target={target} />
            </Unbroken>
          )}
          target={holder}
          continues={state.newer}
          toEnd={sent}
          onTarget={() => focusOn(target ?? '', found)}
          onNearStart={() => void store.loadOlder()}
          onNearEnd={() => void store.loadNewer()}
          before={<Beginning state={state} empty={entries.length === 0} />}
          after={<End store={store} state={state} />}
        />
      </ShowOutput.Provider>
      {viewed === undefined ? null : <OutputViewer message={viewed} close={() => setViewed(undefined)} />}
      <RunStatus state={state} />
      <Composer
        session={session}
        run={log.run}
        isFocused={target === undefined && !stepped && !hasScreenKeyboard()}
        send={send}
        key={session}
      >
        <RunButtons run={log.run} store={store} />
      </Composer>
    </div>
  )
}

/** Loads the part of the log that contains the target, once. */
function useJump(store: ConversationStore, target: string | undefined): void {
  const jumped = useRef<string | undefined>(undefined)
  useEffect(() => {
    if (target === undefined || jumped.current === target) return
    jumped.current = target
    void store.jumpTo(target)
  }, [target, store])
}

function RunButtons({ run, store }: { readonly run: Run | undefined; readonly store: ConversationStore }) {
  if (isActive(run) || run?.status === 'paused')
    return (
      <button type="button" onClick={() => void store.stop()}>
        Stop
      </button>
    )
  if (run?.status !== 'failed') return null
  return (
    <button type="button" onClick={() => void store.proceed()}>
      Continue
    </button>
  )
}

function Beginning({ state, empty }: { readonly state: Conversation; readonly empty: boolean }) {
  if (state.loading) return <p class="quiet edge">Loading…</p>
  if (!state.loaded) return null
  if (state.older) return <p class="quiet edge">Loading older messages…</p>
  if (!empty || state.log.drafts.length > 0 || state.pending.length > 0) return <p class="quiet edge">The beginning</p>
  return <p class="quiet edge">Nothing has been said here yet.</p>
}

/** Shows everything that is not in the log: streaming text, queued inputs, waiting calls, and errors. */
function End({ store, state }: { readonly store: ConversationStore; readonly state: Conversation }) {
  const { log, pending, error, newer } = state
  if (newer) return <p class="quiet edge">Loading newer messages…</p>
  const { run } = log
  return (
    <div class="end">
      {log.drafts.map((draft) => (
        <Unbroken key={draft.key} shows={draft}>
          <DraftView draft={draft} />
        </Unbroken>
      ))}
      {pending.map(({ key, text, accepted }) => (
        <article key={key} class="entry user pending">
          <header>
            <span class="who">You</span>
            <span class="when">{accepted ? 'sent' : 'sending…'}</span>
          </header>
          <div class="said">{text}</div>
        </article>
      ))}
      {log.progress.map(({ key, text }) => (
        <p key={key} class="quiet">
          {text}
        </p>
      ))}
      {log.notices.map(({ key, text }) => (
        <p key={key} class="notice">
          {text}
        </p>
      ))}
      {run === undefined ? null : <Waiting run={run} store={store} />}
      {run?.status !== 'failed' || isShown(log.messages, run) ? null : (
        <Problem details={run.error?.code ?? 'failed'} text={run.error?.message ?? 'the run failed'} />
      )}
      {run?.status === 'cancelled' ? <p class="notice">The run was cancelled.</p> : null}
      {error === undefined ? null : (
        <Failure error={error}>
          <button type="button" class="link" onClick={store.dismiss}>
            Dismiss
          </button>
        </Failure>
      )}
    </div>
  )
}

/** Whether the log ends with the error of the failed run. */
const isShown = (messages: readonly Message[], run: Run): boolean =>
  messages.at(-1)?.parts.some((part) => part.type === 'error' && part.code === run.error?.code) === true

/** Shows the state of the run, also for screen readers. */
function RunStatus({ state }: { readonly state: Conversation }) {
  const statusText = statusOf(state)
  const lost = state.connection === 'lost'
  return (
    <p class={`run-status${lost ? ' lost' : ''}`} role="status">
      {statusText === '' ? null : <span class={`dot ${lost ? 'failed' : (state.log.run?.status ?? '')}`} />}
      {statusText}
    </p>
  )
}

function statusOf({ connection, log: { run } }: Conversation): string {
  if (connection === 'lost') return 'The connection is lost; trying again…'
  if (connection === 'left') return 'Catching up…'
  if (run?.status === 'running') return 'Running'
  if (run?.status === 'queued') return 'Queued'
  return run?.status === 'paused' ? 'Paused: waiting for you' : ''
}
