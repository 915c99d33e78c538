import type { Caller } from '../../access/caller.ts'
import { changeSession, createSession, enterSession, findSession, requireUsableAgent } from '../../access/sessions.ts'
import { definedFields } from '../../domain/defined-fields.ts'
import { TooltrailError } from '../../domain/errors.ts'
import type { Session } from '../../domain/session.ts'
import type { AppDependencies } from '../dependencies.ts'

interface Wanted {
  readonly id: string
  /** Left out: the session keeps its own, and a new one has `default`. */
  readonly agent?: string | undefined
  /** Of a new session, for a caller who has none of its own. */
  readonly owner?: string | undefined
  /** Of the session from now on; left out, they stay as they are. */
  readonly instructions?: string | undefined
}

/**
 * The session of this id, made if there is none, with this agent and these instructions from now on. What is returned has them also
 * where another request changes them meanwhile: a run is executed as its own request says. Rejects as `createSession` and
 * `enterSession` do.
 */
export async function openSession(dependencies: AppDependencies, caller: Caller, wanted: Wanted): Promise<Session> {
  const { id, agent, owner, instructions } = wanted
  if (agent !== undefined) requireUsableAgent(dependencies.agents, caller, agent)
  const known = await existing(dependencies, caller, id)
  if (known === undefined) {
    try {
      const more = definedFields({ owner: caller.owner ?? owner, instructions })
      return await createSession(dependencies, caller, {
        session: id,
        agent: agent ?? 'default',
        metadata: {},
        ...more,
      })
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
  const changed = Object.keys(change).length === 0 ? session : await changeSession(dependencies, caller, id, change)
  return { ...changed, ...definedFields({ agent, instructions }) }
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
