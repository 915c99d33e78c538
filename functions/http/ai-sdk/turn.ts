import { sha256 } from '../../domain/hash.ts'
import type { CallResolution } from '../../agent/service/agent-service.ts'
import type { Caller } from '../../access/caller.ts'
import { countedFor } from '../../access/rates.ts'
import { enterSession } from '../../access/sessions.ts'
import { definedFields } from '../../domain/defined-fields.ts'
import { isUlid } from '../../domain/ids.ts'
import type { ToolMessage } from '../../domain/messages/message.ts'
import { isEnded } from '../../domain/runs/run.ts'
import type { Run } from '../../domain/runs/run.ts'
import { keyOf } from '../../domain/session.ts'
import type { SessionKey } from '../../domain/session.ts'
import { dataOf } from '../../log/import/fields.ts'
import type { LogReader } from '../../ports/log-reader.ts'
import type { RouteDependencies } from '../dependencies.ts'
import { RequestError } from '../middleware/request-error.ts'
import { invalidRequest } from '../middleware/validation.ts'
import { refuseWrongTools } from '../v1/messages/incoming-content.ts'
import { isImageAddress, withImages } from '../v1/messages/incoming-images.ts'
import type { RequestPart } from '../v1/messages/incoming-images.ts'
import { findRun } from '../v1/runs/resource.ts'
import { clientCallId } from '../run-steps/call-id.ts'
import { aliasedAgent } from '../agent-alias.ts'
import type { FollowedRun } from '../run-steps/follow-steps.ts'
import { existing, openSession } from '../run-steps/open-session.ts'
import { placeMessage, runToRegenerate } from './replaced-turn.ts'
import { seenBefore } from '../run-steps/pause-lookup.ts'
import type { AssistantUiMessage, ChatRequest, UserUiMessage } from './schemas.ts'
import { jsonText } from '../../log/json/well-formed.ts'

/** Rows in one page. */
const PAGE = 200

/** Accepts a user message: starts a run, or finds the run that an earlier attempt started. */
export async function acceptUserMessage(
  dependencies: RouteDependencies,
  { caller, signal }: { readonly caller: Caller; readonly signal: AbortSignal },
  body: ChatRequest,
  message: UserUiMessage,
): Promise<FollowedRun> {
  const { service, settings } = dependencies
  const { id, tools = [] } = body
  // A session keeps its agent unless the client names another one.
  const known = await existing(dependencies, caller, id)
  const named = body.agent === undefined ? undefined : aliasedAgent(dependencies, body.agent)
  const agent = named ?? known?.agent ?? 'default'
  const at = `body.messages[${body.messages.length - 1}].parts`
  const parts = message.parts.map((part, index) => partOf(part, `${at}[${index}]`))
  await refuseWrongTools(dependencies, agent, { tools, said: parts })
  const limits = countedFor(caller, settings.caps)
  if (known === undefined) await service.assertCapacity(caller.tenant, limits)
  const placed = await placeMessage(dependencies, known && keyOf(known), message.id, sha256(jsonText(message.parts)))
  const submission = {
    clientTools: tools,
    ...definedFields({ metadata: message.metadata ?? undefined }),
    ...limits,
    ...placed,
  }
  const content = [{ path: at, field: 'url', parts }]
  return withImages(dependencies, { tenant: caller.tenant, signal }, content, async ([ready = []]) => {
    const session = await openSession(dependencies, caller, { id, agent: named })
    const { runId } = await service.submit(session, { parts: ready, ...submission }, { here: true })
    return { key: keyOf(session), runId }
  })
}

/** Accepts a request for another answer: replaces the run of a message, or the newest run. */
export async function acceptRegeneration(
  dependencies: RouteDependencies,
  caller: Caller,
  { id, tools = [], messageId }: ChatRequest,
): Promise<FollowedRun> {
  const { service, settings } = dependencies
  const session = await enterSession(dependencies, caller, id)
  const key = keyOf(session)
  const newest = session.run?.id
  const run = await runToRegenerate(dependencies, key, messageId ?? undefined, newest)
  await refuseWrongTools(dependencies, session.agent, { tools, said: [] })
  // Two concurrent requests for another answer start only one run.
  const idempotency = { keyHash: sha256(`ui-regenerate ${run.id} ${newest}`), bodyHash: '' }
  const limits = countedFor(caller, settings.caps)
  const submission = { parts: undefined, replaces: run.id, clientTools: tools, ...limits, idempotency }
  const { runId } = await service.submit(session, submission, { here: true })
  return { key, runId }
}

/**
 * Accepts the client's results and its user's decisions for the calls of its last message. Answers that are already
 * known are skipped.
 */
export async function acceptCallOutputs(
  dependencies: RouteDependencies,
  caller: Caller,
  { id, tools }: ChatRequest,
  message: AssistantUiMessage,
): Promise<FollowedRun> {
  const { service, reader } = dependencies
  const session = await enterSession(dependencies, caller, id)
  const key = keyOf(session)
  // The client's message usually has the id of its run, which need not be the session's newest run.
  const named = isUlid(message.id) ? await findRun(reader, key, message.id) : undefined
  const run = named ?? (session.run && (await reader.run(key, session.run.id)))
  if (run === undefined) throw new RequestError(409, 'no_run', `session ${id} has no run whose calls could be answered`)
  const given = new Map(message.parts.map((part) => [part.toolCallId, part]))
  const partOfCall = (row: ToolMessage): Part | undefined => given.get(clientCallId(row))
  const asked = (await callsOf(reader, key, run)).filter((row) => row.needs !== undefined && partOfCall(row))
  // The request is rejected, because the response would be an empty stream. Clients repeat their answers until they get
  // a new step or an error.
  if (run.status === 'cancelled' || (asked.length === 0 && message.parts.some(isAnswer)))
    throw new RequestError(
      409,
      'unknown_tool_calls',
      `run ${run.id} does not wait for these calls: read the chat again`,
    )
  const resolutions = isEnded(run.status) ? [] : asked.flatMap((row) => resolutionOf(row, partOfCall(row)))
  await refuseWrongTools(dependencies, run.agent, { tools, said: [] })
  if (resolutions.length > 0)
    await service.resolve(session, run.id, resolutions, { here: true }, { clientTools: tools })
  const seen = await seenBefore(reader, key, run, new Set(asked.map((row) => row.id)))
  // A delegate call counts as open, because the client has seen only a placeholder for the result.
  const open = (seen?.open ?? asked).filter((row) => row.needs === undefined || !hasEnd(partOfCall(row)))
  const { messages } = await reader.messages(key, { order: 'descending', limit: 1 })
  const after = seen?.after ?? asked.at(-1)?.id ?? messages[0]?.id
  return { key, runId: run.id, after, open }
}

type Part = AssistantUiMessage['parts'][number]

/** Whether the part shows that its call has ended. */
const hasEnd = (part: Part | undefined): boolean => part?.state?.startsWith('output-') === true
/** Whether the part is an answer of the client or its user. */
const isAnswer = (part: Part): boolean =>
  part['providerExecuted'] !== true && (hasEnd(part) || part.state === 'approval-responded')

/** All calls of a run, in order. */
export async function callsOf(reader: LogReader, key: SessionKey, { id: run }: Run): Promise<ToolMessage[]> {
  const rows: ToolMessage[] = []
  for (let after: string | undefined; ;) {
    const query = { order: 'ascending', limit: PAGE, run, roles: ['tool'], ...definedFields({ after }) } as const
    const { messages, more } = await reader.messages(key, query)
    for (const one of messages) if (one.role === 'tool') rows.push(one)
    after = messages.at(-1)?.id
    if (!more || after === undefined) return rows
  }
}

function resolutionOf(row: ToolMessage, part: Part | undefined): CallResolution[] {
  if (part === undefined || row.status !== 'waiting') return []
  const call = { toolCallId: row.toolCallId, messageId: row.id }
  if (row.needs === 'approval') {
    const approved = part.state === 'approval-responded' ? part.approval?.approved : undefined
    return approved === undefined ? [] : [{ ...call, approve: approved }]
  }
  if (part.state === 'output-error') return [{ ...call, error: part.errorText ?? 'the call failed' }]
  if (part.state !== 'output-available') return []
  const output = part['output'] ?? null
  return [{ ...call, output: [{ type: 'text', text: typeof output === 'string' ? output : jsonText(output) }] }]
}

const MEDIA_TYPE = /^[a-z0-9][a-z0-9!#$&^_.+-]{0,63}\/[a-z0-9][a-z0-9!#$&^_.+-]{0,63}$/

function partOf(part: UserUiMessage['parts'][number], path: string): RequestPart {
  if (part.type === 'text') return { type: 'text', text: part.text }
  const { url, mediaType = 'image/*', filename } = part
  if (isImageAddress(url) && mediaType.toLowerCase().startsWith('image/'))
    return { type: 'image', url, ...definedFields({ filename }) }
  const found = dataOf(url)
  if (found === undefined || found.data.length === 0 || !MEDIA_TYPE.test(found.mediaType))
    throw invalidRequest([
      { path: `${path}.url`, message: 'must be a data URL with base64, or the address of an image' },
    ])
  const type = found.mediaType.startsWith('image/') ? 'image' : 'file'
  return { type, ...found, ...definedFields({ filename }) }
}
