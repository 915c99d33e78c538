import type { ClosedNumbers, MemberCall } from '../../domain/messages/closed-message.ts'
import { definedFields } from '../../domain/defined-fields.ts'
import type { NumberedSources } from '../../domain/messages/source.ts'
import { createNewest } from './newest.ts'

/** The position of a message in the imported log. */
interface PlacedThere {
  readonly run?: string | undefined
  readonly parentToolCallId?: string | undefined
  /** Id of the call's row in the source log. */
  readonly parentMessageId?: string | undefined
}

/** Finds calls of an imported log. They are parents of members' messages, or have results with sources. */
export interface MemberCalls {
  /** Records a call whose result was read. `row`: the id of its row in the source log. */
  take(message: PlacedThere, call: Omit<MemberCall, 'parentToolCallId'>, row?: string): MemberCall
  /**
   * Returns the call that a member's message names. If the message names the call's row, returns the call with this row. That
   * call may belong to an earlier run, because other messages can separate two parts of a turn. Otherwise, returns the latest
   * call with the given id in this run. Undefined if there is no such call.
   */
  parentOf(message: PlacedThere): MemberCall | undefined
  /**
   * Returns the numbers of each result's sources, as a completion of the imported log records them. Undefined if the
   * numbers are not consecutive, or if an entry matches no earlier result. A result that already has numbers matches no
   * further entry.
   */
  numbersOf(recorded: readonly NumberedSources[]): ClosedNumbers | undefined
  /** Starts a run. */
  begin(): void
}

/**
 * Maximum number of results whose sources get their numbers in one completion. So the record fits a DynamoDB item of
 * 400 KB.
 */
const MAX_NUMBERED_RESULTS = 1_000

/** Creates an empty collection. */
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
      // A member's own call may have the same id as the call that the member works for. If so, the id must still find the call
      // that the member works for.
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
