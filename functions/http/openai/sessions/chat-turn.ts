import {} from '../../../domain/hash.ts'
import type { Submission } from '../../../agent/service/agent-service.ts'
import type { Caller } from '../../../access/caller.ts'
import type { ToolMessage } from '../../../domain/messages/message.ts'
import type { ChatInput } from '../chat/chat-request.ts'

/** What a client says and answers, and where. */
export interface ChatTurn {
  /** Of this run alone. */
  readonly instructions?: string
  /** What to do while a run is active; left out: what the agent's policy says. */
  readonly onBusy?: Submission['onBusy']
  readonly caller: Caller
  readonly agent: string
  readonly user: string | undefined
  /** As the client names it. */
  readonly session: string | undefined
  /** The request names it, and not only what was found of it. */
  readonly isNamed: boolean
  /** SHA-256 of the request's body. */
  readonly bodyHash: string
  readonly idempotencyKey: string | undefined
  /** The client says that it has not sent this before. */
  readonly isFirstTry: boolean
  readonly input: ChatInput
  /** Decisions on calls that wait for one, by the ids of their rows. */
  readonly decisions?: ReadonlyMap<string, boolean>
  /** The id that the client knows a call by; left out: the model's own. Results of unknown calls are then ignored. */
  readonly nameOf?: (call: ToolMessage) => string
  /** The run whose calls its results answer; left out: the session's newest. */
  readonly answersTo?: string
}

/** A repeated request joins the run of the first for this long, in milliseconds. */
export const REPEAT_MS = 60_000
/** As long as a session remembers idempotency keys, in milliseconds. */
export const KEYS_MS = 86_400_000

/** Whose requests may be taken for repetitions of each other, as a text. */
export const scopeOf = ({ caller, agent, user }: ChatTurn): string =>
  JSON.stringify([caller.owner ?? null, caller.key?.id ?? null, agent, user ?? null])
