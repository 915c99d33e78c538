import { LeaseLost, TooltrailError } from '../../../domain/errors.ts'
import { isLeaders, STATUS_TEXT, type Message, type ToolMessage, type UserMessage } from '../../../domain/message.ts'
import { messageOfInput } from '../../../domain/run-changes.ts'
import type { Lease } from '../../../domain/session.ts'
import type { CallResult, Round, RunLog } from '../../../ports/run-log.ts'
import { numberAt, textAt } from '../attributes.ts'
import { all, is } from '../expressions.ts'
import { headBelow, heldHeader, isHeld, mine } from './header-item.ts'
import { headerKey, messageKey, runKey } from '../keys.ts'
import {
  batchOf,
  changeMessage,
  documentsOfResult,
  isCall,
  isSame,
  messageOf,
  putMessage,
  textOfResult,
  textsOfMessage,
  toolMessageOf,
} from './message-item.ts'
import { endRun, pause } from './run-endings.ts'
import { isQueued, runOf, runStatusOf } from './run-item.ts'
import { namesOf } from './bodies.ts'
import { createSessionRows, type DynamoDependencies, type SessionRows } from './session-rows.ts'
import { counted } from './usage-counters.ts'

/** Extends one session's log, on DynamoDB. */
export function createDynamoRunLog(dependencies: DynamoDependencies): RunLog {
  const rows = createSessionRows(dependencies)
  return {
    appendRound: (lease, round) => appendRound(rows, lease, round),
    completeCall: (lease, result) => completeCall(rows, lease, result),
    beginApproved: (lease, messageId) => beginApproved(rows, lease, messageId),
    repair: (lease, messageIds) => repair(rows, lease, messageIds),
    steer: (lease, queuedRunId, messageId) => steer(rows, lease, queuedRunId, messageId),
    pause: (lease) => pause(rows, lease),
    endRun: (lease, end) => endRun(rows, lease, end),
  }
}

async function appendRound(rows: SessionRows, lease: Lease, { assistant, tools }: Round): Promise<void> {
  const { table, bodies } = rows
  const messages: readonly Message[] = [assistant, ...tools]
  const texts = messages.map(textsOfMessage)
  const stored = await bodies.store(lease, texts.flat())
  const isLeader = isLeaders(assistant)
  const puts = messages.map((message, place) => putMessage(lease, message, stored.splice(0, texts[place]?.length ?? 0)))
  const refusal = await table.write([
    {
      update: headerKey(lease),
      when: all(mine(lease), headBelow(assistant.id)),
      change: {
        set: {
          head: messages.at(-1)?.id,
          floor: isLeader ? assistant.id : undefined,
          takeovers: 0,
        },
        add: {
          waiting: tools.filter(({ status }) => status === 'waiting').length,
          rounds: isLeader ? 1 : 0,
          ...counted(assistant.agent, assistant.usage),
        },
      },
    },
    ...puts,
  ])
  if (refusal === undefined) return
  const [header, item] = await table.readMany([headerKey(lease), messageKey(lease, assistant.id)])
  heldHeader(header, lease)
  const same = item !== undefined && isSame(await messageOf(bodies, lease, item), assistant)
  if (!same) throw new TooltrailError('storage_failed', `message id ${assistant.id} is not greater than the log's last`)
}

async function completeCall(rows: SessionRows, lease: Lease, result: CallResult): Promise<ToolMessage> {
  const { table, bodies } = rows
  const { messageId, status } = result
  const [text = {}] = await bodies.store(lease, [textOfResult(messageId, result)])
  const updated = await table.update(
    messageKey(lease, messageId),
    isCall('running', lease.generation),
    changeMessage({ set: { status, ...text }, add: { documents: documentsOfResult(result) } }),
  )
  if (updated.done) return toolMessageOf(bodies, lease, updated.item)
  // The answer of an earlier attempt may have been lost: then the row says just this.
  const { item } = updated
  const isMine = item !== undefined && textAt(item, 'status') === status && numberAt(item, 'gen') === lease.generation
  if (isMine && Object.entries(text).every(([name, value]) => textAt(item, name) === value))
    return toolMessageOf(bodies, lease, item)
  throw new LeaseLost(lease.session, lease.generation)
}

async function beginApproved(rows: SessionRows, lease: Lease, messageId: string): Promise<ToolMessage> {
  const { table, bodies } = rows
  const refusal = await table.write([
    { check: headerKey(lease), when: mine(lease) },
    {
      update: messageKey(lease, messageId),
      when: is('status', 'approved'),
      change: changeMessage({ set: { status: 'running', gen: lease.generation } }),
    },
  ])
  const item = await table.read(messageKey(lease, messageId))
  const call = item && (await toolMessageOf(bodies, lease, item))
  const begun = call?.status === 'running' && call.generation === lease.generation
  if (call === undefined || refusal?.[0] !== undefined || !begun) throw new LeaseLost(lease.session, lease.generation)
  return call
}

async function repair(rows: SessionRows, lease: Lease, messageIds: readonly string[]): Promise<readonly ToolMessage[]> {
  if (messageIds.length === 0) return []
  const before = await readCalls(rows, lease, messageIds)
  const completedAt = rows.clock.now()
  const running = before.filter(({ status }) => status === 'running')
  for (let rest: readonly ToolMessage[] = running; rest.length > 0;) {
    const batch = batchOf(rest)
    await interrupt(rows, lease, batch, completedAt)
    rest = rest.slice(batch.length)
  }
  return running.length === 0 ? before : readCalls(rows, lease, messageIds)
}

/** The header and the calls of these ids; throws `LeaseLost` where one is another holder's. */
async function readCalls(
  { table, bodies }: SessionRows,
  lease: Lease,
  messageIds: readonly string[],
): Promise<ToolMessage[]> {
  const [header, ...items] = await table.readMany([headerKey(lease), ...messageIds.map((id) => messageKey(lease, id))])
  heldHeader(header, lease)
  return Promise.all(
    items.map(async (item, place) => {
      if (item === undefined)
        throw new TooltrailError('message_not_found', `the log has no tool message ${messageIds[place]}`)
      const call = await toolMessageOf(bodies, lease, item)
      if (call.status === 'running' && call.generation !== lease.generation)
        throw new LeaseLost(lease.session, lease.generation)
      return call
    }),
  )
}

async function interrupt(
  { table, bodies }: SessionRows,
  lease: Lease,
  calls: readonly ToolMessage[],
  completedAt: number,
): Promise<void> {
  const parts = [{ type: 'text', text: STATUS_TEXT.interrupted }] as const
  const texts = await bodies.store(
    lease,
    calls.map(({ id }) => textOfResult(id, { parts, completedAt })),
  )
  const refusal = await table.write([
    { check: headerKey(lease), when: mine(lease) },
    ...calls.map(({ id }, place) => ({
      update: messageKey(lease, id),
      when: isCall('running', lease.generation),
      change: changeMessage({
        set: { status: 'interrupted', ...texts[place] },
        add: { documents: documentsOfResult({ parts }) },
      }),
    })),
  ])
  // Only this holder ends calls that it has claimed, and it does not do so while it repairs.
  if (refusal !== undefined) throw new LeaseLost(lease.session, lease.generation)
}

async function steer(
  rows: SessionRows,
  lease: Lease,
  queuedRunId: string,
  messageId: string,
): Promise<UserMessage | undefined> {
  const { table, bodies, clock } = rows
  const keys = [headerKey(lease), runKey(lease, lease.runId), runKey(lease, queuedRunId), messageKey(lease, messageId)]
  const [found, activeItem, queuedItem, landed] = await table.readMany(keys)
  const header = heldHeader(found, lease)
  if (activeItem === undefined) throw new LeaseLost(lease.session, lease.generation)
  if (landed !== undefined && queuedItem !== undefined && textAt(queuedItem, 'merged_into') === lease.runId) {
    const message = await messageOf(bodies, lease, landed)
    return message.role === 'user' ? message : undefined
  }
  if (queuedItem === undefined || runStatusOf(queuedItem) !== 'queued') return undefined
  const [into, queued] = await Promise.all([
    runOf(bodies, lease, activeItem, header),
    runOf(bodies, lease, queuedItem, undefined),
  ])
  const message = messageOfInput(queued, into, messageId, clock.now())
  if (message === undefined) return undefined
  const texts = await bodies.store(lease, textsOfMessage(message))
  const refusal = await table.write([
    {
      update: headerKey(lease),
      when: all(mine(lease), headBelow(messageId)),
      change: { set: { head: messageId, takeovers: 0 }, add: { queued: -1 } },
    },
    {
      update: runKey(lease, queuedRunId),
      when: isQueued,
      change: { set: { status: 'merged', merged_into: lease.runId }, remove: namesOf('input') },
    },
    putMessage(lease, message, texts),
  ])
  if (refusal === undefined) return message
  if (refusal[0] !== undefined && !isHeld(refusal[0].item, lease)) throw new LeaseLost(lease.session, lease.generation)
  if (refusal[1] !== undefined) return undefined
  throw new TooltrailError('storage_failed', `message id ${messageId} is not greater than the log's last`)
}
