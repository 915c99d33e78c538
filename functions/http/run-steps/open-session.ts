import type { Caller } from '../../access/caller.ts'
import { changeSession, createSession, enterSession, findSession, requireUsableAgent } from '../../access/sessions.ts'
import { definedFields } from '../../domain/defined-fields.ts'
import { TooltrailError } from '../../domain/errors.ts'
import type { Session } from '../../domain/session.ts'
import type { AppDependencies } from '../dependencies.ts'

interface Wanted {
  readonly id: string
  /** By default, an existing session keeps its agent, and a new session gets the agent `default`. */
  readonly agent?: string | undefined
  /** The owner of a new session, if the caller is not bound to one. */
  readonly owner?: string | undefined
  /** The session's instructions from now on. If undefined, the instructions stay unchanged. */
  readonly instructions?: string | undefined
}

/**
 * Opens the session with this id, or creates it, and sets its agent and instructions. The returned session has these
 * values even if another request changes the stored ones. So a run uses the settings of its own request. Rejects like
 * `createSession` and `enterSession`.
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
      // If the id is taken, another request has just created the session.
      const made = isCode(error, 'session_exists') ? await existing(dependencies, caller, id) : undefined
      if (made === undefined) throw error
    }
  }
  // A key limited to other agents must not take over the session. A caller with such a key could then answer
  // the calls of the session's agent.
  const session = await enterSession(dependencies, caller, id)
  const change = definedFields({
    agent: session.agent === agent ? undefined : agent,
    instructions: session.instructions === instructions ? undefined : instructions,
  })
  const changed = Object.keys(change).length === 0 ? session : await changeSession(dependencies, caller, id, change)
  return { ...changed, ...definedFields({ agent, instructions }) }
}

/** Finds a session. Returns undefined if there is none with this id, or if the caller may not see it. */
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
