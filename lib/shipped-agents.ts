import { existsSync, readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { z } from 'zod'
import { beforeEachLine, faultText, reasonOf, settingText } from '../functions/runtime/settings/setting-text.ts'
import { EnvironmentError } from './environments.ts'

const AGENTS_FILE = 'agents.json'

/** Schema of the agent fields that the stacks need; the functions check the other fields. */
const agent = z.looseObject({
  model: z.string().optional(),
  policies: z
    .looseObject({
      ttl_days: z.number().nullable().optional(),
      consolidation: z.union([z.literal(false), z.looseObject({ model: z.string().optional() })]).optional(),
      titles: z.union([z.string(), z.looseObject({ model: z.string() })]).optional(),
    })
    .optional(),
})
const file = z.looseObject({ agents: z.record(z.string(), agent) })

export interface ShippedAgents {
  /** The content of the functions' `agents.json`. */
  readonly json: string
  /** Every `provider/model` that an agent names, for itself, for its summaries or for titles. */
  readonly models: readonly string[]
}

/** Returns the default path of the agents' file, if that file exists. */
export const defaultAgentsFile = (): string | undefined => (existsSync(AGENTS_FILE) ? AGENTS_FILE : undefined)

/**
 * Reads the agents that are deployed with the code: the agents in the file `path`. Without `path`, there is only the
 * built-in default agent. Agents without `ttl_days` get `sessionDays`. Throws `EnvironmentError` for a file that does
 * not exist or cannot be read.
 */
export function shipAgents(path: string | undefined, sessionDays?: number): ShippedAgents {
  const { agents, ...rest } = path === undefined ? { agents: {} } : parse(path)
  const all = sessionDays === undefined ? agents : { default: {}, ...agents }
  const shipped = Object.entries(all).map(([name, one]) => [name, withDays(one, sessionDays)] as const)
  const models = shipped.flatMap(([, { model, policies }]) => {
    const { consolidation = false, titles = 'input' } = policies ?? {}
    const summaries = consolidation === false ? undefined : consolidation.model
    return [model, summaries, typeof titles === 'string' ? undefined : titles.model].filter(
      (name) => name !== undefined,
    )
  })
  return { json: `${JSON.stringify({ ...rest, agents: Object.fromEntries(shipped) }, null, 2)}\n`, models }
}

type Agent = z.output<typeof agent>

function withDays(one: Agent, days: number | undefined): Agent {
  if (days === undefined || one.policies?.ttl_days !== undefined) return one
  return { ...one, policies: { ...one.policies, ttl_days: days } }
}

function parse(path: string): z.output<typeof file> {
  try {
    return file.parse(JSON.parse(readFileSync(path, 'utf8')), { error: settingText })
  } catch (error) {
    const text =
      error instanceof z.ZodError
        ? error.issues.map((issue) => faultText(issue.path, reasonOf(issue))).join('\n')
        : (error as Error).message
    throw new EnvironmentError(beforeEachLine(`agentsFile: ${resolve(path)}: `, text), { cause: error })
  }
}
