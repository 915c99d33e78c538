import type { Message, Run } from '../../functions/client/api-types.ts'
import type { FollowedEvent, FollowOptions } from '../../functions/client/follow.ts'
import type { Draft } from './drafts.ts'
import type { Log } from '../log/log.ts'

/** An input that was sent and is not in the log yet. */
export interface Pending {
  readonly key: number | string
  readonly text: string
  /**
   * Id of the log's last message when the input was sent. Before that id is known, the value is greater than all ids.
   */
  readonly after: string
  /** Whether the server has accepted the input. While false, the server may still reject the input. */
  readonly accepted: boolean
  /** The run that begins with this input. Set if the input is queued. */
  readonly run?: string | undefined
}

let sent = 0

/** Converts a draft to a pending input with the draft's text, or the name of its first file. */
export const pendingOf = ({ text, files }: Draft): Pending => ({
  key: ++sent,
  text: text.trim() === '' ? (files[0]?.name ?? '') : text.trim(),
  after: '~',
  accepted: false,
})

export const withPending = (
  pending: readonly Pending[],
  key: Pending['key'],
  part: Partial<Pending>,
): readonly Pending[] => pending.map((one) => (one.key === key ? { ...one, ...part } : one))

/** Marks an input as accepted. */
export const withAccepted = (
  pending: readonly Pending[],
  key: Pending['key'],
  { id, status }: Run,
): readonly Pending[] =>
  withPending(
    pending.filter(({ run }) => run !== id),
    key,
    { accepted: true, run: status === 'queued' ? id : undefined },
  )

/** Adds queued inputs, and removes inputs that have left the queue. `runs`: the session's newest runs. */
export function withQueued(pending: readonly Pending[], runs: readonly Run[], { messages }: Log): readonly Pending[] {
  const left = pending.filter(({ run }) => !runs.some(({ id, status }) => id === run && status !== 'queued'))
  const known = new Set([...left.map(({ run }) => run), ...messages.map((message) => message.run_id)])
  const queued = runs.flatMap(({ id, status, input }): Pending[] => {
    if (status !== 'queued' || input === undefined || known.has(id)) return []
    const texts = input.parts.map((part) => ('text' in part ? part.text : (part.filename ?? part.media_type)))
    return [{ key: id, text: texts[0] ?? '', after: '~', accepted: true, run: id }]
  })
  return queued.length === 0 && left.length === pending.length ? pending : [...queued.toReversed(), ...left]
}

/** Removes inputs that are in the log now. */
export function stillPending(pending: readonly Pending[], { messages }: Log): readonly Pending[] {
  if (pending.length === 0) return pending
  const inputs = messages.filter(({ role }) => role === 'user')
  const isOf = (message: Message, { run, text, after }: Pending): boolean =>
    run === undefined ? message.id > after && says(message, text) : message.run_id === run
  return pending.filter((one) => !inputs.some((message) => isOf(message, one)))
}

const says = ({ parts }: Message, text: string): boolean =>
  parts.some((part) => ('text' in part ? part.text === text : 'filename' in part && part.filename === text))

type Events = AsyncGenerator<FollowedEvent, void, undefined>

/**
 * Yields the events of an input that is being sent. Until the server has accepted the input, a lost connection is
 * reopened, even if `signal` has aborted. Throws the error with which the server rejected the input.
 */
export async function* sending(
  open: (follow: FollowOptions) => Events,
  { signal, onLost }: { readonly signal: AbortSignal; readonly onLost: () => void },
  onAccepted: () => void,
): Events {
  const own = new AbortController()
  let accepted = false
  signal.addEventListener('abort', () => {
    if (accepted) own.abort()
  })
  for await (const event of open({ signal: own.signal, onLost })) {
    if (!accepted) onAccepted()
    accepted = true
    if (signal.aborted) return
    yield event
  }
}
