import type { Agent, Policies } from '../agent.ts'
import { definedFields } from '../defined-fields.ts'
import { jsonFormat } from './request-settings.ts'
import type { RequestSettings, RunSettings } from './request-settings.ts'

/**
 * Combines a request's settings with the policies of its agent. A format of the request replaces the policy's format.
 * Returns undefined if nothing differs from the defaults.
 */
export function decidedSettings(
  { responseFormat, requestOptions }: Pick<Policies, 'responseFormat' | 'requestOptions'>,
  { responseFormat: own, toolChoice, stop = [], options = {} }: RequestSettings,
): RunSettings | undefined {
  const settings = definedFields({
    format: jsonFormat(own ?? responseFormat),
    toolChoice: toolChoice === 'auto' ? undefined : toolChoice,
    stop: stop.length === 0 ? undefined : stop,
    options: requestOptions === 'accept' && Object.keys(options).length > 0 ? options : undefined,
  })
  return Object.keys(settings).length === 0 ? undefined : settings
}

/** The agent with the options of a run, which replace the agent's own. */
export function withRunOptions(agent: Agent, { options, stop }: RunSettings = {}): Agent {
  if (options === undefined && stop === undefined) return agent
  return { ...agent, modelOptions: { ...agent.modelOptions, ...options, ...definedFields({ stop }) } }
}
