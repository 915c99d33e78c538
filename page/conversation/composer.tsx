import type { ComponentChildren } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import type { Run } from '../../functions/client/api-types.ts'
import { useKeys } from '../shell/keys.ts'
import { useStore } from '../shell/store.ts'
import { size } from '../text/words.ts'
import { refusalOf } from './attachments.ts'
import { draftOf, EMPTY_DRAFT, isEmpty } from './drafts.ts'
import type { Busy, Draft } from './drafts.ts'
import { isActive } from '../log/log.ts'

interface Props {
  /** Id of the session to which the draft belongs. */
  readonly session: string
  readonly run: Run | undefined
  /** Whether the field gets the focus when it appears. */
  readonly isFocused: boolean
  readonly send: (draft: Draft, busy: Busy) => Promise<void>
  /** Buttons for the run. */
  readonly children?: ComponentChildren
}

/** The form for the next input. While a run is active, the input is queued or steers the run. */
export function Composer({ session, run, isFocused, send, children }: Props) {
  const store = draftOf(session)
  const draft = useStore(store)
  const [busy, setBusy] = useState<Busy>('queue')
  const { files } = draft
  const change = (part: Partial<Draft>): void => store.set({ ...store.get(), sent: undefined, ...part })
  const attach = (added: Iterable<File>): void => change({ files: [...store.get().files, ...added] })
  const refusal = refusalOf(files)
  const active = isActive(run)
  const waiting = run?.status === 'paused' ? run.waiting : []
  const submit = (): void => {
    if (isEmpty(draft) || refusal !== undefined) return
    store.set(EMPTY_DRAFT)
    void send(draft, busy)
  }
  return (
    <form
      class="composer"
      onSubmit={(event) => {
        event.preventDefault()
        submit()
      }}
    >
      {waiting.length === 0 ? null : <Warning waiting={waiting} />}
      <Field
        text={draft.text}
        described={waiting.length > 0}
        isFocused={isFocused}
        placeholder={active ? (busy === 'steer' ? 'Steer the run…' : 'Runs next…') : 'Message…'}
        change={(text) => change({ text })}
        attach={attach}
        submit={submit}
      />
      <Attached files={files} refusal={refusal} change={(left) => change({ files: left })} />
      <div class="composer-foot">
        <Attach attach={attach} />
        {active ? (
          <select
            aria-label="While a run is active"
            value={busy}
            onChange={(event) => setBusy(event.currentTarget.value as Busy)}
          >
            <option value="queue">Queue it</option>
            <option value="steer">Steer the run</option>
          </select>
        ) : (
          <span class="quiet hint">Enter sends, Shift+Enter makes a line</span>
        )}
        <span class="grow" />
        {children}
        <button type="submit" class="primary" disabled={isEmpty(draft) || refusal !== undefined}>
          Send
        </button>
      </div>
    </form>
  )
}

const WARNING = 'composer-warning'

/** Warns that an input would cancel the calls that wait. */
function Warning({ waiting }: { readonly waiting: Run['waiting'] }) {
  const [first] = waiting
  const calls = waiting.length === 1 ? `the call of ${first?.tool_name ?? ''}` : `the ${waiting.length} calls`
  return (
    <p class="composer-warning" id={WARNING}>
      A message cancels {calls} that {waiting.length === 1 ? 'waits' : 'wait'} for you.
    </p>
  )
}

interface FieldProps {
  readonly text: string
  /** Whether the warning about cancelled calls is shown. */
  readonly described: boolean
  readonly isFocused: boolean
  readonly placeholder: string
  readonly change: (text: string) => void
  readonly attach: (files: Iterable<File>) => void
  readonly submit: () => void
}

function Field({ text, described, isFocused, placeholder, change, attach, submit }: FieldProps) {
  const field = useRef<HTMLTextAreaElement>(null)
  useEffect(() => {
    if (isFocused) field.current?.focus({ preventScroll: true })
  }, [])
  useKeys({ c: () => field.current?.focus() })
  useEffect(() => {
    const element = field.current
    if (element === null) return
    element.style.height = 'auto'
    element.style.height = `${Math.min(element.scrollHeight, innerHeight * 0.4)}px`
  }, [text])
  return (
    <textarea
      ref={field}
      rows={1}
      value={text}
      aria-label="Message"
      aria-describedby={described ? WARNING : undefined}
      placeholder={placeholder}
      onInput={(event) => change(event.currentTarget.value)}
      onPaste={(event) => attach(event.clipboardData?.files ?? [])}
      onKeyDown={(event) => {
        if (event.key === 'Escape') leave(event.currentTarget)
        if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return
        event.preventDefault()
        submit()
      }}
    />
  )
}

/** Moves the focus to the conversation, so that letter and arrow keys control the page again. */
const leave = (field: HTMLElement): void =>
  field.closest('.conversation')?.querySelector<HTMLElement>('.scroller')?.focus({ preventScroll: true })

function Attach({ attach }: { readonly attach: (files: Iterable<File>) => void }) {
  return (
    <label class="attach">
      Attach
      <input
        type="file"
        multiple
        onChange={(event) => {
          attach(event.currentTarget.files ?? [])
          event.currentTarget.value = ''
        }}
      />
    </label>
  )
}

function Attached(props: {
  readonly files: readonly File[]
  readonly refusal: string | undefined
  readonly change: (files: readonly File[]) => void
}) {
  const { files, refusal, change } = props
  if (files.length === 0) return null
  return (
    <ul class="attached" aria-label="Attached files">
      {files.map((file, index) => (
        <li key={index}>
          {file.name}, {size(file.size)}
          <button
            type="button"
            class="link"
            aria-label={`Remove ${file.name}`}
            onClick={() => change(files.filter((one) => one !== file))}
          >
            Remove
          </button>
        </li>
      ))}
      {refusal === undefined ? null : <li role="alert">{refusal}</li>}
    </ul>
  )
}
