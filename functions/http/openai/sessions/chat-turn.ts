import type { IncomingPart, Submission } from '../../../agent/service/agent-service.ts'
import type { Caller } from '../../../access/caller.ts'
import type { ToolMessage } from '../../../domain/messages/message.ts'
import type { RequestPart } from '../../v1/messages/incoming-images.ts'
import type { ChatInput } from '../chat/chat-request.ts'

/** One attempt to send a turn, with the run that it has started or may have started. */
export interface Attempt {
  /** The name under which the attempt is stored. */
  readonly name: string
  readonly session: string
  /** The run's idempotency key in its session, hashed. */
  readonly keyHash: string
  /** Start of the attempt, in milliseconds since 1970. */
  readonly startedAt: number
}

/**
 * The client's new input and answers, and the session that they are for. Until an image is fetched, its part contains
 * only its address.
 */
export interface ChatTurn<Part = RequestPart> {
  /** Instructions for this run only. Null: a request that continues a run removes the run's instructions. */
  readonly instructions?: string | null
  /** The behaviour while a run is active; by default the agent's policy. */
  readonly onBusy?: Submission['onBusy']
  readonly caller: Caller
  readonly agent: string
  readonly user: string | undefined
  /** The session's id as the client names it. */
  readonly session: string | undefined
  /** Whether the request itself names the session. If false, the server found the session for the request. */
  readonly isNamed: boolean
  /** The session, conversation or Response that the request names; undefined if it names none. */
  readonly place?: string
  /** SHA-256 of the request's body. */
  readonly bodyHash: string
  /** Hash of the client, `place` and the folded messages. A request and its repetition have the same hash. */
  readonly turnHash: string
  readonly idempotencyKey: string | undefined
  /** Whether the client says that it has sent this request before. */
  readonly isRetry: boolean
  /** The attempt that this request repeats. */
  readonly attempt?: Attempt
  readonly input: ChatInput<Part>
  /** The field of a tool that holds its name; `name` by default. */
  readonly toolField?: string
  /** Decisions on calls that wait for an approval, by the ids of their rows. */
  readonly decisions?: ReadonlyMap<string, boolean>
  /**
   * The id by which the client knows a call; by default the model's id. If set, results of unknown calls are ignored.
   */
  readonly nameOf?: (call: ToolMessage) => string
  /** The run whose calls the results answer; by default the session's newest run. */
  readonly answersTo?: string
}

/** A turn with the bytes of its images. */
export type ReadyTurn = ChatTurn<IncomingPart>

/** How long repeated answers to calls are recognized, in milliseconds, if nothing in the request identifies these calls. */
export const REPEAT_MS = 60_000
/** How long a session remembers idempotency keys, in milliseconds. */
export const KEYS_MS = 86_400_000

/** Returns the client and the agent of a turn, as a text. Requests with different texts are no repetitions. */
export const scopeOf = ({ caller, agent, user }: Pick<ChatTurn, 'caller' | 'agent' | 'user'>): string =>
  JSON.stringify([caller.owner ?? null, caller.key?.id ?? null, agent, user ?? null])

/**
 * Whether this value of a header marks a repeated request. OpenAI's packages send their number of retries in the
 * header.
 */
export const saysRetry = (header: string | undefined): boolean => Number(header) > 0
