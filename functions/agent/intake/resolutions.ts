import { createHash } from 'node:crypto'
import type { Policies } from '../../domain/agent.ts'
import { TooltrailError } from '../../domain/errors.ts'
import type { ToolMessage } from '../../domain/message.ts'
import type { SessionKey } from '../../domain/session.ts'
import { fitContent } from '../../log/fit-content.ts'
import type { Clock } from '../../ports/clock.ts'
import type { LogReader } from '../../ports/log-reader.ts'
import type { OutputStore } from '../../ports/output-store.ts'
import type { Resolution } from '../../ports/run-inbox.ts'
import type { IncomingPart, CallResolution } from './agent-service.ts'
import { storeMedia } from '../loop/store-media.ts'

/** Rows read at a time. */
const PAGE = 200

interface Dependencies {
  readonly reader: LogReader
  readonly outputs: OutputStore
  readonly clock: Clock
}

/**
 * Answers as the inbox takes them: large contents and media are in the output store when this resolves. Each carries a hash of
 * what was answered, so that the same answer again is told from a different one.
 */
export async function prepareResolutions(
  dependencies: Dependencies,
  key: SessionKey,
  runId: string,
  resolutions: readonly CallResolution[],
  policies: Policies,
): Promise<Resolution[]> {
  const rows = await callsOf(
    dependencies.reader,
    key,
    runId,
    new Set(resolutions.map((resolution) => resolution.toolCallId)),
  )
  return Promise.all(
    resolutions.map((resolution) => {
      const row = rows.get(resolution.toolCallId)
      const name = JSON.stringify(resolution.toolCallId)
      if (row === undefined) throw new TooltrailError('call_not_found', `run ${runId} waits for no call ${name}`)
      if (row.needs === undefined)
        throw new TooltrailError('answer_conflict', `call ${name} is executed here (${row.status}): it takes no answer`)
      return prepareResolution(dependencies, key, row, resolution, policies)
    }),
  )
}

/** The run's calls of these ids; of a repeated id the latest that waits or waited for an answer, else the latest. */
async function callsOf(
  reader: LogReader,
  key: SessionKey,
  runId: string,
  ids: ReadonlySet<string>,
): Promise<Map<string, ToolMessage>> {
  const rows = new Map<string, ToolMessage>()
  const waited = (): number => rows.values().reduce((count, row) => count + (row.needs === undefined ? 0 : 1), 0)
  for (let before: string | undefined; ;) {
    const from = before === undefined ? {} : { before }
    const page = await reader.messages(key, { order: 'descending', limit: PAGE, run: runId, roles: ['tool'], ...from })
    for (const message of page.messages)
      if (message.role === 'tool' && ids.has(message.toolCallId)) {
        const later = rows.get(message.toolCallId)
        if (later === undefined || (later.needs === undefined && message.needs !== undefined))
          rows.set(message.toolCallId, message)
      }
    before = page.messages.at(-1)?.id
    if (waited() === ids.size || !page.more || before === undefined) return rows
  }
}

async function prepareResolution(
  dependencies: Dependencies,
  key: SessionKey,
  row: ToolMessage,
  resolution: CallResolution,
  policies: Policies,
): Promise<Resolution> {
  const { toolCallId } = resolution
  const hash = hashOf(resolution)
  if ('approve' in resolution) return { toolCallId, kind: 'approval', approved: resolution.approve, hash }
  const content = 'error' in resolution ? [{ type: 'text', text: resolution.error } as const] : resolution.output
  const text = content.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('\n')
  const media = await storeMedia(
    dependencies,
    key,
    content.filter((part) => part.type !== 'text'),
  )
  const { parts, output, object } = fitContent(
    { messageId: row.id, attempt: hash.slice(0, 16) },
    { text, media },
    policies,
  )
  if (object !== undefined) await dependencies.outputs.put(key, object.name, object.bytes, object.mediaType)
  return { toolCallId, kind: 'result', status: 'error' in resolution ? 'error' : 'completed', parts, output, hash }
}

function hashOf(resolution: CallResolution): string {
  const hash = createHash('sha256')
  if ('approve' in resolution) hash.update(`approve:${resolution.approve}`)
  else if ('error' in resolution) hash.update(`error:${resolution.error}`)
  else for (const part of resolution.output) updateWith(part)
  return hash.digest('hex')

  function updateWith(part: IncomingPart): void {
    if (part.type === 'text') hash.update(`text:${part.text.length}:${part.text}`)
    else hash.update(`${part.type}:${part.mediaType}:${part.filename ?? ''}:${part.data.length}:`).update(part.data)
  }
}
