import type { Agent } from '../../../../domain/agent.ts'
import type { AppDependencies } from '../../../dependencies.ts'
import { aliasedAgent } from '../../../agent-alias.ts'
import { modelOf } from '../../models.ts'

/** Endings of a model's name that choose whether calls of our own tools are shown. The first is the default. */
const SHOWN = ['text', 'calls'] as const

/** The agent that a model's name requests, and the ending of the name. */
interface RequestedAgent {
  readonly agent: Agent
  readonly shown?: (typeof SHOWN)[number]
}

/** Finds the agent of a model's name. An ending is split off, unless the whole name is an agent's. */
export function requestedAgent(
  dependencies: Pick<AppDependencies, 'agents' | 'settings'>,
  model: string,
): RequestedAgent {
  const shown = SHOWN.find((one) => model.endsWith(`:${one}`))
  if (shown === undefined || dependencies.agents.has(aliasedAgent(dependencies, model)))
    return { agent: modelOf(dependencies, model) }
  return { agent: modelOf(dependencies, model.slice(0, -(shown.length + 1))), shown }
}
