import type { ToolMessage } from '../messages/message.ts'

/** The tool with which an agent gives a task to one of its members. */
export const DELEGATE_TOOL = 'delegate_task_to_member'

/** Delegations below one another: a leader, its member, and two more. */
const MAX_DEPTH = 3

/** Whether a call is executed by a member of the team, and not by whoever made the request. */
export const isDelegation = ({ toolName, needs }: Pick<ToolMessage, 'toolName' | 'needs'>): boolean =>
  toolName === DELEGATE_TOOL && needs === undefined

/** What is wrong with the teams of these agents. */
export interface TeamFault {
  readonly agent: string
  /** Place among the agent's members. */
  readonly place: number
  readonly text: string
}

/** The first fault of the teams: a member that does not exist, a circle, a chain that is too long; undefined: there is none. */
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
