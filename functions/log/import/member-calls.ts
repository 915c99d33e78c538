import type { ClosedNumbers, MemberCall } from '../../domain/messages/closed-message.ts'
import { definedFields } from '../../domain/defined-fields.ts'
import type { NumberedSources } from '../../domain/messages/source.ts'
import { createNewest } from './newest.ts'

/** What a message of another log says of its place. */
interface PlacedThere {
  readonly run?: string | undefined
  readonly parentToolCallId?: string | undefined
  /** The row of the call that it names. */
  readonly parentMessageId?: string | undefined
}

/** The calls of a log that members may work for, and whose results may have sources. */
export interface MemberCalls {
  /** A call whose result has come, by the id that its row has there. */
  take(message: PlacedThere, call: Omit<MemberCall, 'parentToolCallId'>, row?: string): MemberCall
  /**
   * The call that a member's message names: by its row, which may be of an earlier run, because something else can come between
   * two parts of a turn; otherwise the latest of its id in this run. Undefined: none came before.
   */
  parentOf(message: PlacedThere): MemberCall | undefined
  /**
   * The numbers that a completion records there, by their results. Undefined if they do not follow one another, or if one is not
   * of the sources of a result that came before and has no numbers yet.
   */
  numbersOf(recorded: readonly NumberedSources[]): ClosedNumbers | undefined
  /** A run begins. */
  begin(): void
}

/** Results that a completion may number: what it records fits into an item of DynamoDB, which holds 400 KB. */
const MAX_NUMBERED_RESULTS = 1_000

/** No call yet. */
export function createMemberCalls(): MemberCalls {
  const byRow = createNewest(lengthOf)
  const byId = createNewest(lengthOf)
  const withNumbers = new WeakSet<MemberCall>()
  let run: string | undefined
  const begin = (): void => byId.clear()
  const seeRun = (message: PlacedThere): void => {
    if (message.run !== run) begin()
    run = message.run
  }
  return {
    begin,
    take(message, { toolCallId, sequence, sources }, row) {
      seeRun(message)
      const call = { toolCallId, sequence, ...definedFields({ parentToolCallId: message.parentToolCallId, sources }) }
      if (row !== undefined) byRow.set(row, call)
      // A member's own call may have the id of the call that it works for.
      if (toolCallId !== message.parentToolCallId) byId.set(toolCallId, call)
      return call
    },
    parentOf(message) {
      seeRun(message)
      const { parentToolCallId: id, parentMessageId: row } = message
      if (id === undefined) return undefined
      const named = row === undefined ? undefined : byRow.get(row)
      return named?.toolCallId === id ? named : byId.get(id)
    },
    numbersOf(recorded) {
      const results = new Set<MemberCall>()
      const from = recorded[0]?.from
      let next = from
      for (const { message, from: number, count } of recorded) {
        const call = byRow.get(message)
        if (call?.sources !== count || number !== next || results.has(call) || withNumbers.has(call)) return undefined
        results.add(call)
        next = number + count
      }
      if (from === undefined || results.size > MAX_NUMBERED_RESULTS) return undefined
      for (const call of results) withNumbers.add(call)
      return { from, results: [...results] }
    },
  }
}

const lengthOf = (name: string, { toolCallId, parentToolCallId = '' }: MemberCall): number =>
  name.length + toolCallId.length + parentToolCallId.length
