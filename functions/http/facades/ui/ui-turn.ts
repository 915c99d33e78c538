import { createHash } from 'node:crypto'
import type { CallResolution, IncomingPart } from '../../../agent/intake/agent-service.ts'
import type { Caller } from '../../../access/caller.ts'
import { countedFor } from '../../../access/rates.ts'
import { enterSession } from '../../../access/sessions.ts'
import { definedFields } from '../../../domain/defined-fields.ts'
import type { ToolMessage } from '../../../domain/message.ts'
import { isEnded } from '../../../domain/run.ts'
import { keyOf } from '../../../domain/session.ts'
import { dataOf } from '../../../log/import/fields.ts'
import type { RouteDependencies } from '../../dependencies.ts'
import { RequestError } from '../../middleware/request-error.ts'
import { invalidRequest } from '../../middleware/validation.ts'
import { refuseFalseImages, refuseMissingTool, refuseTakenNames } from '../../v1/incoming-content.ts'
import type { FollowedRun } from '../follow-steps.ts'
import { existing, openSession } from '../open-session.ts'
import { clientCallId } from '../call-id.ts'
import type { AssistantUiMessage, ChatRequest, UserUiMessage } from './ui-schemas.ts'

/** Rows read at a time. */
const PAGE = 200

/** The client sends the user's message: it starts a run, or is given the run that it started before. */
export async function acceptUserMessage(
  dependencies: RouteDependencies,
  caller: Caller,
  body: ChatRequest,
  message: UserUiMessage,
): Promise<FollowedRun> {
  const { service, agents, settings } = dependencies
  const { id, tools = [] } = body
  // A session keeps its agent unless the client names another.
  const known = await existing(dependencies, caller, id)
  const agent = body.agent ?? known?.agent ?? 'default'
  const at = `body.messages[${body.messages.length - 1}].parts`
  const parts = message.parts.map((part, index) => partOf(part, `${at}[${index}]`))
  refuseTakenNames(tools)
  refuseMissingTool(agents.get(agent), tools)
  await refuseFalseImages(at, parts, 'url')
  const limits = countedFor(caller, settings.caps)
  if (known === undefined) await service.requireRoom(caller.tenant, limits)
  const session = await openSession(dependencies, caller, { id, agent })
  const { metadata } = message
  const { runId } = await service.submit(
    session,
    {
      parts,
      clientTools: tools,
      ...definedFields({ metadata: metadata ?? undefined }),
      ...limits,
      idempotency: { keyHash: sha256(`ui-message ${message.id}`), bodyHash: sha256(JSON.stringify(message.parts)) },
    },
    { here: true },
  )
  return { key: keyOf(session), runId }
}

/** The client sends what it and its user have done with the calls of its last message; what is known already is left out. */
export async function acceptCallOutputs(
  dependencies: RouteDependencies,
  caller: Caller,
  { id }: ChatRequest,
  message: AssistantUiMessage,
): Promise<FollowedRun> {
  const { service, reader } = dependencies
  const session = await enterSession(dependencies, caller, id)
  const key = keyOf(session)
  const run = session.run === undefined ? undefined : await reader.run(key, session.run.id)
  if (run === undefined) throw new RequestError(409, 'no_run', `session ${id} has no run whose calls could be answered`)
  const rows: ToolMessage[] = []
  for (let after: string | undefined; ;) {
    const query = {
      order: 'ascending',
      limit: PAGE,
      run: run.id,
      roles: ['tool'],
      ...definedFields({ after }),
    } as const
    const page = await reader.messages(key, query)
    for (const one of page.messages) if (one.role === 'tool') rows.push(one)
    after = page.messages.at(-1)?.id
    if (!page.more || after === undefined) break
  }
  const given = new Map(message.parts.map((part) => [part.toolCallId, part]))
  const open = rows.filter((row) => row.needs !== undefined && given.has(clientCallId(row)))
  const resolutions = isEnded(run.status) ? [] : open.flatMap((row) => resolutionOf(row, given.get(clientCallId(row))))
  if (resolutions.length > 0) await service.resolve(session, run.id, resolutions, { here: true })
  const { messages } = await reader.messages(key, { order: 'descending', limit: 1 })
  const after = resolutions.length > 0 ? rows.at(-1)?.id : (open.at(-1)?.id ?? messages[0]?.id)
  return { key, runId: run.id, after, open: new Set(open.filter(isUndecided).map((row) => row.id)) }
}

/** Its end is not known to the client: it waited for a decision, and is executed here. */
const isUndecided = ({ needs }: ToolMessage): boolean => needs === 'approval'

function resolutionOf(row: ToolMessage, part: AssistantUiMessage['parts'][number] | undefined): CallResolution[] {
  if (part === undefined || row.status !== 'waiting') return []
  const call = { toolCallId: row.toolCallId, messageId: row.id }
  if (row.needs === 'approval') {
    const approved = part.state === 'approval-responded' ? part.approval?.approved : undefined
    return approved === undefined ? [] : [{ ...call, approve: approved }]
  }
  if (part.state === 'output-error') return [{ ...call, error: part.errorText ?? 'the call failed' }]
  if (part.state !== 'output-available') return []
  const output = part['output'] ?? null
  return [{ ...call, output: [{ type: 'text', text: typeof output === 'string' ? output : JSON.stringify(output) }] }]
}

const MEDIA_TYPE = /^[a-z0-9][a-z0-9!#$&^_.+-]{0,63}\/[a-z0-9][a-z0-9!#$&^_.+-]{0,63}$/

function partOf(part: UserUiMessage['parts'][number], path: string): IncomingPart {
  if (part.type === 'text') return { type: 'text', text: part.text }
  const found = dataOf(part.url)
  if (found === undefined || found.data.length === 0 || !MEDIA_TYPE.test(found.mediaType))
    throw invalidRequest([{ path: `${path}.url`, message: 'must be a data URL with base64: nothing is fetched' }])
  const type = found.mediaType.startsWith('image/') ? 'image' : 'file'
  return { type, ...found, ...definedFields({ filename: part.filename }) }
}

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex')
