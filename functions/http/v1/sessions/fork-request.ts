import type { z } from '@hono/zod-openapi'
import type { Caller } from '../../../access/caller.ts'
import { bindSession, createSession, enterSession, findSession } from '../../../access/sessions.ts'
import { definedFields } from '../../../domain/defined-fields.ts'
import { TooltrailError } from '../../../domain/errors.ts'
import { nextId } from '../../../domain/ids.ts'
import { isLeaders } from '../../../domain/messages/message.ts'
import { isEnded } from '../../../domain/runs/run.ts'
import { titleOfCopy } from '../../../domain/session-title.ts'
import type { Session, SessionKey } from '../../../domain/session.ts'
import type { NewSession } from '../../../ports/session-store.ts'
import type { RouteDependencies } from '../../dependencies.ts'
import { RequestError } from '../../middleware/request-error.ts'
import type { newFork } from '../transfer/schema.ts'

/** Number of runs per page in the search for the run that ended with a given message. */
const RUNS = 20

/**
 * Creates a session with a copy of the log of `from`. If a fork was interrupted, a repetition with the same id
 * continues the fork. The id of a completed fork is rejected, because it is taken.
 */
export async function fork(
  dependencies: RouteDependencies,
  caller: Caller,
  from: Session,
  { through: wanted, id = nextId(undefined, dependencies.clock.now()), title }: z.output<typeof newFork>,
): Promise<Session> {
  const through =
    wanted === undefined ? await newestEnd(dependencies, from) : await forkable(dependencies, from, wanted)
  return copyInto(dependencies, caller, from, { through, id, title })
}

/**
 * Like `fork`, but copies the log up to and including a given message, whose calls must all have ended. The copy of a
 * bound session is bound too, even if another caller makes the copy. The reason: a caller with the owner's key has
 * shaped the session's content.
 */
export async function copyInto(
  dependencies: RouteDependencies,
  caller: Caller,
  source: SessionKey,
  { through, id: name, title }: { readonly through: string; readonly id: string; readonly title: string | undefined },
): Promise<Session> {
  const { service } = dependencies
  // The session is read after the message was found. If the session was bound since an earlier read, the copy must be
  // bound too.
  const from = await findSession(dependencies, caller, source.session)
  const forkedFrom = { session: from.session, messageId: through }
  const { session, isNew } = await madeOrFound()
  const copied = await service.copyLog(from, through, session)
  if (!isNew && copied === 0) throw taken()
  return findSession(dependencies, caller, name)

  async function madeOrFound(): Promise<{ readonly session: Session; readonly isNew: boolean }> {
    try {
      const { agent, owner, instructions, metadata, ownerBound } = from
      const made = { session: name, agent, metadata, forkedFrom, awaitsCopy: true as const }
      const more = { ...definedFields({ owner, instructions, ownerBound }), ...titleOfFork(from, title) }
      return { session: await createSession(dependencies, caller, { ...made, ...more }), isNew: true }
    } catch (error) {
      if (!(error instanceof TooltrailError) || error.code !== 'session_exists') throw error
      const found = await dependencies.sessions.read({ tenant: caller.tenant, session: name })
      const isMine = caller.owner === undefined || found?.owner === caller.owner
      const { session: of, messageId } = found?.forkedFrom ?? {}
      if (found === undefined || !isMine || of !== from.session || messageId !== through) throw error
      const entered = await enterSession(dependencies, caller, name)
      return { session: from.ownerBound === true ? await bindSession(dependencies, entered) : entered, isNew: false }
    }
  }

  function taken(): TooltrailError {
    return new TooltrailError('session_exists', `session ${name} exists, or was deleted less than 30 days ago`)
  }
}

/** The given title, or the original title with `(copy)`. */
function titleOfFork(from: Session, given: string | undefined): Pick<NewSession, 'title' | 'titleSource'> {
  if (given !== undefined) return { title: given }
  if (from.title === undefined || from.titleSource === undefined) return {}
  const { text, source } = titleOfCopy({ text: from.title, source: from.titleSource })
  return { title: text, titleSource: source }
}

async function forkable({ reader }: RouteDependencies, from: Session, id: string): Promise<string> {
  const message = await reader.message(from, id)
  if (message === undefined) throw refused(`is not a message of session ${from.session}`)
  if (message.role === 'user' && isLeaders(message)) return id
  const run = await reader.run(from, message.runId)
  const { messages } = await reader.messages(from, { order: 'descending', limit: 1, run: message.runId })
  if (run !== undefined && isEnded(run.status) && messages[0]?.id === id) return id
  throw refused('must be an input, or the last message of a run that has ended')
}

async function newestEnd({ reader }: RouteDependencies, from: Session): Promise<string> {
  for (let before: string | undefined; ;) {
    const page = await reader.runs(from, { limit: RUNS, ...definedFields({ before }) })
    for (const run of page.runs) {
      if (!isEnded(run.status)) continue
      const { messages } = await reader.messages(from, { order: 'descending', limit: 1, run: run.id })
      const [last] = messages
      if (last !== undefined) return last.id
    }
    before = page.runs.at(-1)?.id
    if (!page.more || before === undefined)
      throw refused('has no default: no run of this session has ended with a message')
  }
}

const refused = (message: string): RequestError =>
  new RequestError(422, 'not_forkable', `body.through ${message}`, { errors: [{ path: 'body.through', message }] })
