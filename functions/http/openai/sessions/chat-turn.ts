import {} from '../../../domain/hash.ts'
import type { Submission } from '../../../agent/service/agent-service.ts'
import type { Caller } from '../../../access/caller.ts'
import type { ToolMessage } from '../../../domain/messages/message.ts'
import type { ChatInput } from '../chat/chat-request.ts'

/** The client's new input and answers, and the session that they are for. */
export interface ChatTurn {
  /** Instructions for this run only. */
  readonly instructions?: string
  /** The behaviour while a run is active; by default the agent's policy. */
  readonly onBusy?: Submission['onBusy']
  readonly caller: Caller
  readonly agent: string
  readonly user: string | undefined
  /** The session's id as the client names it. */
  readonly session: string | undefined
  /** Whether the request itself names the session, as opposed to a session found for it. */
  readonly isNamed: boolean
  /** SHA-256 of the request's body. */
  readonly bodyHash: string
  readonly idempotencyKey: string | undefined
  /** Whether the client states that this is its first attempt. */
  readonly isFirstTry: boolean
  readonly input: ChatInput
  /** Decisions on calls that wait for an approval, by the ids of their rows. */
  readonly decisions?: ReadonlyMap<string, boolean>
  /**
   * The id by which the client knows a call; by default the model's id. If set, results of unknown calls are ignored.
   */
  readonly nameOf?: (call: ToolMessage) => string
  /** The run whose calls the results answer; by default the session's newest run. */
  readonly answersTo?: string
}

/** How long a repeated request joins the run of the first one, in milliseconds. */
export const REPEAT_MS = 60_000
/** How long a session remembers idempotency keys, in milliseconds. */
export const KEYS_MS = 86_400_000

/** The scope within which requests can be repetitions of each other, as a text. */
export const scopeOf = ({ caller, agent, user }: ChatTurn): string =>
  JSON.stringify([caller.owner ?? null, caller.key?.id ?? null, agent, user ?? null])
