import { cutBefore } from '../../domain/session-title.ts'
import { createHash } from 'node:crypto'
import type { Policies } from '../../domain/agent.ts'
import { definedFields } from '../../domain/defined-fields.ts'
import { TooltrailError } from '../../domain/errors.ts'
import type { ToolMessage } from '../../domain/messages/message.ts'
import type { SessionKey } from '../../domain/session.ts'
import type { Source } from '../../domain/messages/source.ts'
import { fitContent } from '../../log/fit-content.ts'
import type { Clock } from '../../ports/clock.ts'
import type { LogReader } from '../../ports/log-reader.ts'
import type { OutputStore } from '../../ports/output-store.ts'
import { resolvedCalls, type Resolution } from '../../domain/runs/call-resolution.ts'
import type { IncomingPart, CallResolution, RowResolution } from './agent-service.ts'
import { currentRun } from '../events/follow-run.ts'
import { storeToolMedia } from '../media.ts'

type AnyResolution = CallResolution | RowResolution

/** Rows in one page. */
const PAGE = 200

interface Dependencies {
  readonly reader: LogReader
  readonly outputs: OutputStore
  readonly clock: Clock
}

/**
 * Converts resolutions to the form that the inbox takes. Also stores large contents and media in the output store. Each
 * resolution gets a hash of its content. The hash distinguishes a repeated resolution from a different one.
 */
export async function prepareResolutions(
  dependencies: Dependencies,
  key: SessionKey,
  runId: string,
  resolutions: readonly AnyResolution[],
  policiesOf: (agent: string) => Policies,
): Promise<Resolution[]> {
  // A merged run has the calls of the run that it was merged into.
  const { id } = await currentRun(dependencies.reader, key, runId)
  const rows = await callsOf(dependencies.reader, key, id, resolutions)
  const meant = resolutions.map((resolution) => ({
    resolution,
    row: rowOf(runId, resolution, rows),
    hash: hashOf(resolution),
  }))
  // Checked before the contents are stored, so that a rejected resolution leaves no objects. The inbox checks again.
  resolvedCalls({ runId: id, calls: rows, isOpen: true }, meant.map(withoutContent), dependencies.clock.now())
  return Promise.all(meant.map((one) => prepareResolution(dependencies, key, one, policiesOf(one.row.agent))))
}

/** A resolution, the row of its call, and the hash of its content. */
interface Meant {
  readonly resolution: AnyResolution
  readonly row: ToolMessage
  readonly hash: string
}

function withoutContent({ resolution, row, hash }: Meant): Resolution {
  const call = { toolCallId: row.toolCallId, messageId: row.id, hash }
  if ('approve' in resolution) return { ...call, kind: 'approval', approved: resolution.approve }
  return { ...call, kind: 'result', status: 'error' in resolution ? 'error' : 'completed', parts: [] }
}

/** Whether the resolution can refer to the call. */
const mayMean = ({ toolCallId, messageId }: AnyResolution, call: ToolMessage): boolean =>
  (toolCallId ?? call.toolCallId) === call.toolCallId && (messageId ?? call.id) === call.id

/** Finds the call that the sender saw. Models reuse call ids, so an id alone must not match a call of a later round. */
function rowOf(runId: string, resolution: AnyResolution, rows: readonly ToolMessage[]): ToolMessage {
  const meant = rows.filter((row) => mayMean(resolution, row))
  const name = JSON.stringify(resolution.toolCallId ?? resolution.messageId)
  const waited = meant.filter(({ needs }) => needs !== undefined)
  const [row, ...others] = waited
  if (row !== undefined && others.length === 0) return row
  if (row !== undefined) {
    const candidates = waited.map(({ id, call, status }) => `${id} (${cutBefore(call, 100)}, ${status})`).join(', ')
    const text = `run ${runId} has several calls ${name}: name one by its message_id: ${candidates}`
    throw new TooltrailError('ambiguous_call', text)
  }
  const [executed] = meant
  if (executed === undefined) throw new TooltrailError('call_not_found', `run ${runId} waits for no call ${name}`)
  const text = `call ${name} is executed here (${executed.status}): it accepts no tool result and no decision`
  throw new TooltrailError('resolution_conflict', text)
}

/** Reads all calls of the run that these resolutions can refer to, in the order of the log. */
async function callsOf(
  reader: LogReader,
  key: SessionKey,
  runId: string,
  resolutions: readonly AnyResolution[],
): Promise<ToolMessage[]> {
  const rows: ToolMessage[] = []
  for (let after: string | undefined; ;) {
    const from = after === undefined ? {} : { after }
    const page = await reader.messages(key, { order: 'ascending', limit: PAGE, run: runId, roles: ['tool'], ...from })
    for (const message of page.messages)
      if (message.role === 'tool' && resolutions.some((one) => mayMean(one, message))) rows.push(message)
    after = page.messages.at(-1)?.id
    if (!page.more || after === undefined) return rows
  }
}

async function prepareResolution(
  dependencies: Dependencies,
  key: SessionKey,
  { resolution, row, hash }: Meant,
  policies: Policies,
): Promise<Resolution> {
  const call = { toolCallId: row.toolCallId, messageId: row.id }
  if ('approve' in resolution)
    return { ...call, kind: 'approval', approved: resolution.approve, ...definedFields({ by: resolution.by }), hash }
  const content = 'error' in resolution ? [{ type: 'text', text: resolution.error } as const] : resolution.output
  const text = content.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('\n')
  const { stored: media } = await storeToolMedia(
    dependencies.outputs,
    key,
    content.filter((part) => part.type !== 'text'),
  )
  const { objects, ...fitted } = fitContent(
    { messageId: row.id, attempt: hash.slice(0, 16) },
    { text, media, ...('error' in resolution ? {} : definedFields({ sources: resolution.sources })) },
    policies,
  )
  for (const { name, bytes, mediaType } of objects) await dependencies.outputs.put(key, name, bytes, mediaType)
  return { ...call, kind: 'result', status: 'error' in resolution ? 'error' : 'completed', ...fitted, hash }
}

/** Fields in a fixed order, so that their order in the input does not change the hash. */
const fieldsOf = ({ title, url, text, id }: Source): unknown => ({ title, url, text, id })

function hashOf(resolution: AnyResolution): string {
  const hash = createHash('sha256')
  if ('approve' in resolution) hash.update(`approve:${resolution.approve}`)
  else if ('error' in resolution) hash.update(`error:${resolution.error}`)
  else {
    for (const part of resolution.output) updateWith(part)
    if (resolution.sources !== undefined) hash.update(`sources:${JSON.stringify(resolution.sources.map(fieldsOf))}`)
  }
  return hash.digest('hex')

  function updateWith(part: IncomingPart): void {
    if (part.type === 'text') hash.update(`text:${part.text.length}:${part.text}`)
    else hash.update(`${part.type}:${part.mediaType}:${part.filename ?? ''}:${part.data.length}:`).update(part.data)
  }
}
