import type { ToolMessage } from '../messages/message.ts'

/** The tool by which an agent delegates a task to one of its members. */
export const DELEGATE_TOOL = 'delegate_task_to_member'

/** Limit of nested delegations: a leader, its member, and two more. */
const MAX_DEPTH = 3

/** Whether a call is executed by a member of the team, not by the caller of the API. */
export const isDelegation = ({ toolName, needs }: Pick<ToolMessage, 'toolName' | 'needs'>): boolean =>
  toolName === DELEGATE_TOOL && needs === undefined

/** A fault in an agent's team. */
export interface TeamFault {
  readonly agent: string
  /** The index of the faulty member among the agent's members. */
  readonly place: number
  readonly text: string
}

/**
 * The first fault of the teams: an unknown member, a circle, or a chain that is too long. Undefined if there is none.
 */
export function teamFault(membersOf: ReadonlyMap<string, readonly string[]>): TeamFault | undefined {
  for (const [agent, members] of membersOf)
    for (const [place, member] of members.entries()) {
      const text = membersOf.has(member)
        ? chainFault([agent, member], membersOf)
        : `there is no agent ${JSON.stringify(member)}`
      if (text !== undefined) return { agent, place, text }
    }
  return undefined
}

function chainFault(chain: readonly string[], membersOf: ReadonlyMap<string, readonly string[]>): string | undefined {
  const last = chain.at(-1) ?? ''
  const names = chain.join(' → ')
  if (chain.indexOf(last) < chain.length - 1) return `${names}: an agent cannot work for itself`
  if (chain.length > MAX_DEPTH + 1) return `${names}: more than ${MAX_DEPTH} delegations below one another`
  for (const member of membersOf.get(last) ?? []) {
    const text = chainFault([...chain, member], membersOf)
    if (text !== undefined) return text
  }
  return undefined
}
