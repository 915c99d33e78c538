import type { Caller } from '../../access/caller.ts'
import { changeSession, createSession, enterSession, findSession, requireUsableAgent } from '../../access/sessions.ts'
import { definedFields } from '../../domain/defined-fields.ts'
import { TooltrailError } from '../../domain/errors.ts'
import type { Session } from '../../domain/session.ts'
import type { AppDependencies } from '../dependencies.ts'

interface Wanted {
  readonly id: string
  readonly agent: string
  /** Of a new session, for a caller who has none of its own. */
  readonly owner?: string | undefined
  /** Of the session from now on; left out, they stay as they are. */
  readonly instructions?: string | undefined
}

/**
 * The session of this id, made if there is none, with this agent and these instructions from now on. Rejects as `createSession` and
 * `enterSession` do.
 */
export async function openSession(dependencies: AppDependencies, caller: Caller, wanted: Wanted): Promise<Session> {
  const { id, agent, owner, instructions } = wanted
  requireUsableAgent(dependencies.agents, caller, agent)
  const known = await existing(dependencies, caller, id)
  if (known === undefined) {
    try {
      const more = definedFields({ owner: caller.owner ?? owner, instructions })
      return await createSession(dependencies, caller, { session: id, agent, metadata: {}, ...more })
    } catch (error) {
      // Somebody else has made it meanwhile.
      const made = isCode(error, 'session_exists') ? await existing(dependencies, caller, id) : undefined
      if (made === undefined) throw error
    }
  }
  // Who could take a session from an agent that its key does not name could answer that agent's calls, too.
  const session = await enterSession(dependencies, caller, id)
  const change = definedFields({
    agent: session.agent === agent ? undefined : agent,
    instructions: session.instructions === instructions ? undefined : instructions,
  })
  return Object.keys(change).length === 0 ? session : changeSession(dependencies, caller, id, change)
}

/** The session if the caller may see it, undefined if there is none for them. */
export async function existing(
  dependencies: AppDependencies,
  caller: Caller,
  id: string,
): Promise<Session | undefined> {
  try {
    return await findSession(dependencies, caller, id)
  } catch (error) {
    if (isCode(error, 'session_not_found')) return undefined
    throw error
  }
}

export const isCode = (error: unknown, code: TooltrailError['code']): boolean =>
  error instanceof TooltrailError && error.code === code
