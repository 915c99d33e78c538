import type { Message, ToolStatus } from '../../../domain/messages/message.ts'
import type { RunStatus } from '../../../domain/runs/run.ts'
import type { TitleSource } from '../../../domain/session-title.ts'

/** Rows store indexes into this list and the lists below. So only append to these lists. */
const ROLES: readonly Message['role'][] = ['user', 'assistant', 'tool']
/** The first three are the open statuses: queries use `status < 3`. */
const TOOL_STATUSES: readonly ToolStatus[] = [
  'running',
  'waiting',
  'approved',
  'completed',
  'error',
  'interrupted',
  'cancelled',
  'denied',
]
/**
 * The first three are the statuses of runs that have not ended: queries use `status < 3`, and `status = 0` for queued
 * runs.
 */
const RUN_STATUSES: readonly RunStatus[] = ['queued', 'running', 'paused', 'completed', 'failed', 'cancelled', 'merged']

/** Origins of titles. */
const TITLE_SOURCES: readonly TitleSource[] = ['given', 'agent', 'model', 'input']

export const roleCode = (role: Message['role']): number => ROLES.indexOf(role)
export const toolStatusCode = (status: ToolStatus): number => TOOL_STATUSES.indexOf(status)
export const runStatusCode = (status: RunStatus): number => RUN_STATUSES.indexOf(status)

export const titleSourceCode = (source: TitleSource): number => TITLE_SOURCES.indexOf(source)

export const roleOf = (code: number): Message['role'] => named(ROLES, code)
export const toolStatusOf = (code: number): ToolStatus => named(TOOL_STATUSES, code)
export const runStatusOf = (code: number): RunStatus => named(RUN_STATUSES, code)
export const titleSourceOf = (code: number): TitleSource => named(TITLE_SOURCES, code)

function named<Name>(names: readonly Name[], code: number): Name {
  const name = names[code]
  if (name === undefined) throw new RangeError(`a row has the unknown code ${code}`)
  return name
}
