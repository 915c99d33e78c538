import type { FollowedEvent, FollowOptions } from '../../functions/client/follow.ts'
import type { Draft } from './drafts.ts'
import type { Log } from './log.ts'

/** What was sent and is not in the log yet. */
export interface Pending {
  readonly key: number
  readonly text: string
  /** The end of the log when it was sent; before that is known, later than all. */
  readonly after: string
  /** Whether the server has it. Until then it may be refused. */
  readonly accepted: boolean
}

let sent = 0

/** A draft that leaves: its text, or the name of its first file. */
export const pendingOf = ({ text, files }: Draft): Pending => ({
  key: ++sent,
  text: text.trim() === '' ? (files[0]?.name ?? '') : text.trim(),
  after: '~',
  accepted: false,
})

export const withPending = (pending: readonly Pending[], key: number, part: Partial<Pending>): readonly Pending[] =>
  pending.map((one) => (one.key === key ? { ...one, ...part } : one))

/** Without what the log has by now. */
export function stillPending(pending: readonly Pending[], { messages }: Log): readonly Pending[] {
  if (pending.length === 0) return pending
  const inputs = messages.filter(({ role }) => role === 'user')
  return pending.filter(
    ({ text, after }) =>
      !inputs.some(
        ({ id, parts }) =>
          id > after &&
          parts.some((part) => ('text' in part ? part.text === text : 'filename' in part && part.filename === text)),
      ),
  )
}

type Events = AsyncGenerator<FollowedEvent, void, undefined>

/**
 * The events of an input that is sent. A lost connection is opened again, also when nobody follows any more, until the server has the
 * input. Throws what it was refused with.
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
