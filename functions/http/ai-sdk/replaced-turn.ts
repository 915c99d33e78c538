import { sha256 } from '../../domain/hash.ts'
import { isUlid } from '../../domain/ids.ts'
import { supersededBy, type Replacement } from '../../domain/runs/replacement.ts'
import type { Run } from '../../domain/runs/run.ts'
import type { SessionKey } from '../../domain/session.ts'
import type { Idempotency } from '../../ports/run-inbox.ts'
import type { LogReader } from '../../ports/log-reader.ts'
import type { RouteDependencies } from '../dependencies.ts'
import { RequestError } from '../middleware/request-error.ts'
import { findRun } from '../v1/runs/resource.ts'
import { isEnded } from '../../domain/runs/run.ts'

type Dependencies = Pick<RouteDependencies, 'service' | 'reader'>

/** Maximum number of a message's replacements that are searched for its last edit. */
const MAX_EDITS = 50
/** Maximum number of consecutive runs without an input that count as continuations of one turn. */
const MAX_CONTINUED = 100

/** How a user message of the client is submitted. */
export interface Placed {
  readonly idempotency: Idempotency
  /** For an earlier message whose parts have changed: the run that it replaces. */
  readonly replaces?: string
}

/** Returns the key under which a user message of the client is accepted. The key lasts as long as the session. */
const claimOfMessage = (id: string, parts: string): Idempotency => ({
  keyHash: sha256(`ui-message ${id}`),
  bodyHash: parts,
  forGood: true,
})

/**
 * Decides whether a user message is new, is sent again, or is an earlier message with other parts. `parts`: the hash of
 * its parts.
 */
export async function placeMessage(
  { service, reader }: Dependencies,
  key: SessionKey | undefined,
  id: string,
  parts: string,
): Promise<Placed> {
  const fresh = { idempotency: claimOfMessage(id, parts) }
  if (key === undefined) return fresh
  const claim = await service.findClaim(key, fresh.idempotency.keyHash)
  const run = claim?.runId ?? (await runOfInput(reader, key, id))
  if (run === undefined) return fresh
  const places = placesOf(await reader.replacements(key), run)
  const accepted = claim && { ...fresh.idempotency, bodyHash: claim.bodyHash }
  const current = (await lastEdit(service, key, id, places)) ?? accepted
  // A request with the same parts is a repetition of an earlier one.
  if (current?.bodyHash === parts) return { idempotency: current }
  const replaces = places.at(-1) ?? run
  return { idempotency: claimOfEdit(id, parts, replaces), replaces }
}

/** Returns the key of an edit: the client sends an earlier message with other parts, and the message replaces `run`. */
const claimOfEdit = (id: string, parts: string, run: string): Idempotency => ({
  keyHash: sha256(`ui-edit ${id} ${run}`),
  bodyHash: parts,
  forGood: true,
})

/**
 * Returns the key of the last edit of a message; undefined if it was not edited. `places`: the message's run and its successive
 * replacements. A replacement need not be an edit: it may be another answer to the unchanged message.
 */
async function lastEdit(
  service: Dependencies['service'],
  key: SessionKey,
  id: string,
  places: readonly string[],
): Promise<Idempotency | undefined> {
  for (let at = places.length - 1; at > 0 && at > places.length - MAX_EDITS; at--) {
    const former = places[at - 1] ?? ''
    const edit = await service.findClaim(key, claimOfEdit(id, '', former).keyHash)
    if (edit !== undefined && edit.runId === places[at]) return claimOfEdit(id, edit.bodyHash, former)
  }
  return undefined
}

/** Returns the run to replace when the client asks for another answer to a message. */
export async function runToRegenerate(
  dependencies: Dependencies,
  key: SessionKey,
  messageId: string | undefined,
  newest: string | undefined,
): Promise<Run> {
  const { reader } = dependencies
  const id = messageId === undefined ? newest : await runOfMessage(dependencies, key, messageId)
  let run = id === undefined ? undefined : await findRun(reader, key, id)
  if (run === undefined) throw unknownMessage(messageId)
  const named = run
  // A run that continues a failed one has no input: the turn began with an earlier run.
  for (let step = 0; run?.trigger === 'continue' && isEnded(run.status) && step < MAX_CONTINUED; step++)
    run = (await reader.runs(key, { before: run.id, limit: 1 })).runs[0]
  return run ?? named
}

/**
 * Returns the run that an id from the client belongs to. It may be the id of a run, of one of our messages, or of the
 * client's own message.
 */
async function runOfMessage(dependencies: Dependencies, key: SessionKey, id: string): Promise<string | undefined> {
  const { service, reader } = dependencies
  if (isUlid(id) && (await reader.run(key, id)) !== undefined) return id
  const claim = await service.findClaim(key, claimOfMessage(id, '').keyHash)
  const run = claim?.runId ?? (isUlid(id) ? (await reader.message(key, id))?.runId : undefined)
  if (run === undefined) return undefined
  // The client keeps the id of a message that its user edits. So the id means the newest run of the message.
  return claim === undefined ? run : placesOf(await reader.replacements(key), run).at(-1)
}

/** Returns the run of the input with this id. The client got the id from us. */
async function runOfInput(reader: LogReader, key: SessionKey, id: string): Promise<string | undefined> {
  if (!isUlid(id)) return undefined
  const message = await reader.message(key, id)
  return message?.role === 'user' && message.parentToolCallId === undefined ? message.runId : undefined
}

/** Returns a run and its successive replacements, oldest first. */
function placesOf(replacements: readonly Replacement[], run: string): string[] {
  const places = [run]
  for (let by = supersededBy(replacements, run); by !== undefined; by = supersededBy(replacements, by)) places.push(by)
  return places
}

const unknownMessage = (messageId: string | undefined): RequestError =>
  messageId === undefined
    ? new RequestError(409, 'no_run', 'the chat has no run whose answer could be given again')
    : new RequestError(404, 'message_not_found', `the chat has no message ${messageId}`, {
        errors: [{ path: 'body.messageId', message: 'is not a message of this chat' }],
      })
