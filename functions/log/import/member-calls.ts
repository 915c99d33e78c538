import type { MemberCall } from '../../domain/closed-message.ts'
import { definedFields } from '../../domain/defined-fields.ts'
import { createNewest } from './newest.ts'

/** What a message of another log says of its place. */
interface PlacedThere {
  readonly run?: string | undefined
  readonly parentToolCallId?: string | undefined
  /** The row of the call that it names. */
  readonly parentMessageId?: string | undefined
}

/** The calls of a log that members may work for. */
export interface MemberCalls {
  /** A call whose result has come, by the id that its row has there. */
  take(message: PlacedThere, call: Pick<MemberCall, 'toolCallId' | 'sequence'>, row?: string): MemberCall
  /**
   * The call that a member's message names: by its row, which may be of an earlier run, because something else can come between
   * two parts of a turn; otherwise the latest of its id in this run. Undefined: none came before.
   */
  parentOf(message: PlacedThere): MemberCall | undefined
  /** A run begins. */
  begin(): void
}

/** No call yet. */
export function createMemberCalls(): MemberCalls {
  const byRow = createNewest(lengthOf)
  const byId = createNewest(lengthOf)
  let run: string | undefined
  const begin = (): void => byId.clear()
  const seeRun = (message: PlacedThere): void => {
    if (message.run !== run) begin()
    run = message.run
  }
  return {
    begin,
    take(message, { toolCallId, sequence }, row) {
      seeRun(message)
      const call = { toolCallId, sequence, ...definedFields({ parentToolCallId: message.parentToolCallId }) }
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
  }
}

const lengthOf = (name: string, { toolCallId, parentToolCallId = '' }: MemberCall): number =>
  name.length + toolCallId.length + parentToolCallId.length
