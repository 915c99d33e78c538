import { useState } from 'preact/hooks'
import type { Run, ToolResults } from '../../functions/client/api-types.ts'
import { withBidiShown } from '../text/bidi.ts'
import { BusyButton } from '../shell/busy-button.tsx'
import { useStore } from '../shell/store.ts'
import { Unbroken } from '../shell/unbroken.tsx'
import { Value } from '../tools/value.tsx'
import type { ConversationStore } from './conversation-store.ts'
import { resultOf } from './drafts.ts'

type WaitingCall = Run['waiting'][number]

/** Shows the calls that wait in a paused run: for a person's decision, or for the result of a client's tool. */
export function Waiting({ run, store }: { readonly run: Run; readonly store: ConversationStore }) {
  if (run.status !== 'paused' || run.waiting.length === 0) return null
  return (
    <section class="waiting" aria-label="Waiting for you">
      {run.waiting.map((call) => (
        <Unbroken key={call.message_id} shows={call}>
          <WaitingForm call={call} resolve={store.resolve} />
        </Unbroken>
      ))}
    </section>
  )
}

type Resolve = (results: ToolResults) => Promise<void>

function WaitingForm({ call, resolve }: { readonly call: WaitingCall; readonly resolve: Resolve }) {
  const result = resultOf(call.message_id)
  const output = useStore(result)
  const [sending, setSending] = useState(false)
  const names = { message_id: call.message_id, tool_call_id: call.tool_call_id }
  const send = async (resolution: ToolResults['results'][number]): Promise<void> => {
    setSending(true)
    await resolve({ results: [resolution] })
    setSending(false)
  }
  return (
    <form
      class="waiting-call"
      onSubmit={(event) => {
        event.preventDefault()
        void send({ ...names, output })
      }}
    >
      <p>
        <strong>{withBidiShown(call.tool_name)}</strong>{' '}
        {call.needs === 'approval' ? 'needs your decision before it runs.' : 'is yours to execute.'}
      </p>
      <Value name="Arguments" text={call.arguments} />
      {call.needs === 'approval' ? (
        <div class="row">
          <BusyButton class="primary" isBusy={sending} onClick={() => void send({ ...names, approve: true })}>
            Approve
          </BusyButton>
          <BusyButton isBusy={sending} onClick={() => void send({ ...names, approve: false })}>
            Deny
          </BusyButton>
        </div>
      ) : (
        <>
          <label>
            Result of {call.tool_name}
            <textarea rows={2} value={output} onInput={(event) => result.set(event.currentTarget.value)} />
          </label>
          <div class="row">
            <BusyButton class="primary" isBusy={sending}>
              Send result
            </BusyButton>
            <BusyButton isBusy={sending} onClick={() => void send({ ...names, error: output || 'failed' })}>
              Send as error
            </BusyButton>
          </div>
        </>
      )}
    </form>
  )
}
