import { useEffect, useRef, useState } from 'preact/hooks'
import type { Run } from '../../functions/client/api-types.ts'
import type { Busy, ConversationStore } from './conversation-store.ts'
import { contentOf, refusalOf } from './attachments.ts'
import { useKeys } from '../shell/keys.ts'
import { size } from '../shell/words.ts'
import { isActive } from './log.ts'

interface Props {
  readonly store: ConversationStore
  readonly session: string
  readonly run: Run | undefined
  /** Whether somebody can write as soon as it is there. */
  readonly isFocused: boolean
}

/** Drafts of inputs stay in this tab while another session is looked at. */
const drafts = new Map<string, string>()

/** Where the next input is written. While a run is active, it is queued or steers the run. */
export function Composer({ store, session, run, isFocused }: Props) {
  const [text, setText] = useState(drafts.get(session) ?? '')
  const [busy, setBusy] = useState<Busy>('queue')
  const [files, setFiles] = useState<readonly File[]>([])
  const refusal = refusalOf(files)
  const field = useRef<HTMLTextAreaElement>(null)
  const active = isActive(run)

  useEffect(() => {
    if (isFocused) field.current?.focus({ preventScroll: true })
  }, [session])
  useKeys({ c: () => field.current?.focus() })
  useEffect(() => {
    drafts.set(session, text)
    const element = field.current
    if (element === null) return
    element.style.height = 'auto'
    element.style.height = `${Math.min(element.scrollHeight, innerHeight * 0.4)}px`
  }, [text, session])

  const isEmpty = text.trim() === '' && files.length === 0
  const send = (): void => {
    if (isEmpty || refusal !== undefined) return
    setText('')
    setFiles([])
    void contentOf(text.trim(), files).then((content) => store.send({ content }, busy))
  }
  return (
    <form
      class="composer"
      onSubmit={(event) => {
        event.preventDefault()
        send()
      }}
    >
      <textarea
        ref={field}
        rows={1}
        value={text}
        aria-label="Message"
        placeholder={active ? (busy === 'steer' ? 'Steer the run…' : 'Runs next…') : 'Message…'}
        onInput={(event) => setText(event.currentTarget.value)}
        onPaste={(event) => {
          const pasted = [...(event.clipboardData?.files ?? [])]
          if (pasted.length > 0) setFiles([...files, ...pasted])
        }}
        onKeyDown={(event) => {
          if (event.key === 'Escape') leave(event.currentTarget)
          if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return
          event.preventDefault()
          send()
        }}
      />
      <Attached files={files} refusal={refusal} change={setFiles} />
      <div class="composer-foot">
        <label class="attach">
          Attach
          <input
            type="file"
            multiple
            onChange={(event) => {
              setFiles([...files, ...(event.currentTarget.files ?? [])])
              event.currentTarget.value = ''
            }}
          />
        </label>
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
        {active || run?.status === 'paused' ? (
          <button type="button" onClick={() => void store.stop()}>
            Stop
          </button>
        ) : null}
        {run?.status === 'failed' ? (
          <button type="button" onClick={() => void store.proceed()}>
            Continue
          </button>
        ) : null}
        <button type="submit" class="primary" disabled={isEmpty || refusal !== undefined}>
          Send
        </button>
      </div>
    </form>
  )
}

/** Lets the keys of the page and the arrows be what they are elsewhere. */
const leave = (field: HTMLElement): void =>
  field.closest('.conversation')?.querySelector<HTMLElement>('.scroller')?.focus({ preventScroll: true })

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
