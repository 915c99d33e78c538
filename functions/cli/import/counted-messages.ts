import { ImportRefused } from '../../domain/messages/closed-message.ts'
import type { ClosedMessage, ClosedToolMessage } from '../../domain/messages/closed-message.ts'
import type { JsonObject } from '../../domain/json.ts'
import { createNativeImport } from '../../log/import/native.ts'
import { createOpenAiImport } from '../../log/import/openai.ts'
import { lateRound, type CallIn } from '../../log/session-files/late-round.ts'
import { placeOf } from '../../log/session-files/transcript.ts'
import type { Fault, FileMessage, FilePlace } from '../../log/session-files/transcript.ts'
import { digestOf, type Digest } from './digests.ts'

/** A message of a file, as the program stores and counts it. */
export interface CountedMessage extends Omit<FileMessage, 'open'> {
  /** Number of messages before this message, including the results that were added for calls without one. */
  readonly place: number
  readonly beginsTurn: boolean
  readonly digest: Digest
  /** For a result: the message with its call. */
  readonly call?: CallIn
}

/** Options for reading the messages of a file. */
export interface CountOptions {
  readonly format: 'native' | 'openai'
  readonly isLog: boolean
}

/**
 * For each message of a file, computes which messages the program will store. Messages that the program would reject
 * are dropped and reported. A result for a call that is already closed becomes a separate round.
 */
export function countStored(
  { format, isLog }: CountOptions,
  messages: readonly FileMessage[],
): { readonly messages: readonly CountedMessage[]; readonly stored: number; readonly refused: readonly Fault[] } {
  const reader = format === 'openai' ? createOpenAiImport() : createNativeImport()
  const calls = createCalls()
  const taken: CountedMessage[] = []
  const refused: Fault[] = []
  let stored = 0
  const take = (where: FilePlace, value: JsonObject): void => {
    const closed = reader.take(value, 'message')
    stored += closed.length
    // The message itself comes last, after the results added for open calls.
    const own = closed.at(-1)
    if (own === undefined) return
    const call = calls.see(closed, own, value)
    const beginsTurn = own.role === 'user' && own.parentToolCallId === undefined
    taken.push({ ...where, value, place: stored - 1, beginsTurn, digest: digestOf(own, isLog), ...(call && { call }) })
  }
  for (const message of messages) {
    const { value } = message
    const where = placeOf(message)
    try {
      const call = calls.closedOf(value)
      if (call === undefined) take(where, value)
      else for (const one of lateRound(call, value)) take(where, one)
    } catch (error) {
      if (!(error instanceof ImportRefused)) throw error
      refused.push({ ...where, reason: error.message.slice(0, 300) })
    }
  }
  return { messages: taken, stored: stored + reader.end().length, refused }
}

/** Tracks which message contains each call, and which calls were closed without a result. */
function createCalls() {
  const values = new Map<ClosedMessage, JsonObject>()
  const closedCalls = new Map<string, CallIn>()
  const callIn = ({ of, sequence }: ClosedToolMessage): CallIn => ({ message: values.get(of) ?? {}, sequence })
  return {
    /** Records a message and the results added before it. If the message is a result, returns its call. */
    see(closed: readonly ClosedMessage[], own: ClosedMessage, value: JsonObject): CallIn | undefined {
      for (const one of closed)
        if (one.role === 'tool' && one !== own)
          closedCalls.set(nameOf(one.parentToolCallId, one.of.toolCalls[one.sequence]?.id), callIn(one))
      if (own.role === 'tool') return callIn(own)
      if (own.role !== 'assistant' || own.toolCalls.length === 0) return undefined
      values.set(own, value)
      for (const { id } of own.toolCalls) closedCalls.delete(nameOf(own.parentToolCallId, id))
      return undefined
    },
    /** The call of a result, if that call is already closed. */
    closedOf({ role, parent_tool_call_id: parent, tool_call_id: id }: JsonObject): CallIn | undefined {
      return role === 'tool' ? closedCalls.get(nameOf(parent, id)) : undefined
    },
  }
}

const nameOf = (parent: unknown, id: unknown): string => JSON.stringify([parent, id])
