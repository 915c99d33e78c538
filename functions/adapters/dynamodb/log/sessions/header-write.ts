import type { Change, Condition } from '../../expressions.ts'
import type { Action } from '../../table.ts'

/** A part of a write: conditions on the header, its changes, and changes of other items. */
export interface HeaderWrite {
  readonly when: readonly Condition[]
  readonly change: Change
  readonly actions: readonly Action[]
}

export const NO_WRITE: HeaderWrite = { when: [], change: {}, actions: [] }
