import { definedFields } from '../../../../domain/defined-fields.ts'
import { LeaseLost, TooltrailError } from '../../../../domain/errors.ts'
import { isLeaders, type Message, type ToolMessage, type UserMessage } from '../../../../domain/messages/message.ts'
import { interruptedCall, messageOfInput } from '../../../../domain/runs/run-changes.ts'
import type { EventPosition } from '../../../../domain/runs/event-position.ts'
import type { Lease } from '../../../../domain/session.ts'
import type { UsageAccount } from '../../../../domain/usage/usage-count.ts'
import type { CallResult, Round, RunLog } from '../../../../ports/run-log.ts'
import { numberAt, textAt } from '../../attributes.ts'
import { all, is, together } from '../../expressions.ts'
import { recordDecision } from '../sessions/context-item.ts'
import { headBelow, heldHeader, isHeld, mine } from '../sessions/header-item.ts'
import { listedHeader } from '../sessions/adoption/adoption.ts'
import { NO_WRITE } from '../sessions/header-write.ts'
import { relist } from '../sessions/lists/list-entries.ts'
import { countMessages } from '../sessions/message-numbers.ts'
import { hasMoved, MOVED, untilUnmoved } from '../sessions/moved.ts'
import { headerKey, messageKey, runKey } from '../../keys.ts'
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
} from '../messages/message-item.ts'
import { closeRows, endRun, pause } from './run-endings.ts'
import { isQueued, removeSteering, runOf, runStatusOf } from './run-item.ts'
import { namesOf } from '../messages/bodies.ts'
import { putNumbers } from '../messages/source-items.ts'
import type { Action } from '../../table.ts'
import { createSessionRows, type DynamoDependencies, type SessionRows } from '../sessions/session-rows.ts'
import { countedInRun } from '../usage/usage-counters.ts'
import { countUsage } from '../usage/usage-items.ts'

/** Creates the log writer of a session on DynamoDB. */
export function createDynamoRunLog(dependencies: DynamoDependencies): RunLog {
  const rows = createSessionRows(dependencies)
  return {
    appendRound: (lease, round, account) => appendRound(rows, lease, round, account),
    append: (lease, messages) => append(rows, lease, messages),
    completeCall: (lease, result) => completeCall(rows, lease, result),
    beginApproved: (lease, messageId) => beginApproved(rows, lease, messageId),
    repair: (lease, messageIds, position) => repair(rows, lease, messageIds, position),
    steer: (lease, queuedRunId, messageId, position) =>
      untilUnmoved(() => steer(rows, lease, { queuedRunId, messageId, position })),
    recordDecision: (lease, decision) => recordDecision(rows, lease, decision),
    pause: (lease) => pause(rows, lease),
    endRun: (lease, end, account) => endRun(rows, lease, end, account),
  }
}

async function appendRound(
  rows: SessionRows,
  lease: Lease,
  { assistant, tools }: Round,
  account: UsageAccount = {},
): Promise<void> {
  const { table } = rows
  const messages: readonly Message[] = [assistant, ...tools]
  const puts = await putsOf(rows, lease, messages)
  const refusal = await table.write([
    {
      update: headerKey(lease),
      when: all(mine(lease), headBelow(assistant.id)),
      change: together(
        {
          set: {
            head: messages.at(-1)?.id,
            floor: isLeaders(assistant) ? assistant.id : undefined,
            takeovers: 0,
          },
          add: {
            waiting: tools.filter(({ status }) => status === 'waiting').length,
            ...countedInRun(assistant),
          },
        },
        countMessages(messages),
      ),
    },
    ...puts,
    ...putNumbers(lease, assistant),
    ...countUsage(lease, assistant, account),
  ])
  if (refusal !== undefined) await requireStored(rows, lease, assistant)
}

async function append(rows: SessionRows, lease: Lease, messages: readonly Message[]): Promise<void> {
  const [first] = messages
  if (first === undefined) return
  const refusal = await rows.table.write([
    {
      update: headerKey(lease),
      when: all(mine(lease), headBelow(first.id)),
      change: together({ set: { head: messages.at(-1)?.id, takeovers: 0 } }, countMessages(messages)),
    },
    ...(await putsOf(rows, lease, messages)),
  ])
  if (refusal !== undefined) await requireStored(rows, lease, first)
}

/** Stores the texts of new messages, and returns the actions that create the messages. */
async function putsOf({ bodies }: SessionRows, lease: Lease, messages: readonly Message[]): Promise<Action[]> {
  const texts = messages.map(textsOfMessage)
  const stored = await bodies.store(lease, texts.flat())
  return messages.map((message, place) => putMessage(lease, message, stored.splice(0, texts[place]?.length ?? 0)))
}

/**
 * Checks after a refused write whether an earlier attempt has stored this message. Throws `LeaseLost` or
 * `storage_failed` if not.
 */
async function requireStored({ table, bodies }: SessionRows, lease: Lease, message: Message): Promise<void> {
  const [header, item] = await table.readMany([headerKey(lease), messageKey(lease, message.id)])
  heldHeader(header, lease)
  const same = item !== undefined && isSame(await messageOf(bodies, lease, item), message)
  if (!same) throw new TooltrailError('storage_failed', `message id ${message.id} is not greater than the log's last`)
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
  // The response to an earlier attempt may have been lost. The row then has exactly this result.
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

/** Maximum number of refused writes of one repair. Each earlier attempt can cause one refusal. */
const MAX_REFUSALS = 8

async function repair(
  rows: SessionRows,
  lease: Lease,
  messageIds: readonly string[],
  position: EventPosition | undefined,
): Promise<readonly ToolMessage[]> {
  if (messageIds.length === 0) return []
  const completedAt = rows.clock.now()
  for (let refused = 0; refused <= MAX_REFUSALS;) {
    const calls = await readCalls(rows, lease, messageIds)
    const batch = batchOf(calls.filter(({ status }) => status === 'running'))
    if (batch.length === 0) return calls
    const actions = await closeRows(rows, lease, batch, (call) => interruptedCall(call, completedAt, position))
    const refusal = await rows.table.write([{ check: headerKey(lease), when: mine(lease) }, ...actions])
    // The lease is lost, or an earlier attempt has closed calls since they were read.
    if (refusal !== undefined) refused++
  }
  throw new LeaseLost(lease.session, lease.generation)
}

/**
 * Reads the calls with these ids, and the header. Throws `LeaseLost` if another holder is executing one of the calls.
 */
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

/** The queued run whose input becomes a message, and the id and position of this message. */
interface Steering {
  readonly queuedRunId: string
  readonly messageId: string
  readonly position: EventPosition | undefined
}

async function steer(
  rows: SessionRows,
  lease: Lease,
  { queuedRunId, messageId, position }: Steering,
): Promise<UserMessage | undefined | typeof MOVED> {
  const { table, bodies, clock } = rows
  const keys = [headerKey(lease), runKey(lease, lease.runId), runKey(lease, queuedRunId), messageKey(lease, messageId)]
  const [found, activeItem, queuedItem, landed] = await table.readMany(keys)
  const header = await listedHeader(rows, lease, heldHeader(found, lease))
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
  const input = messageOfInput(queued, into, messageId, clock.now())
  if (input === undefined) return undefined
  const message = { ...input, ...definedFields({ position }) }
  const texts = await bodies.store(lease, textsOfMessage(message))
  // Lists show the status of the latest run. If the queued run is the latest, lists now show the status of the active run,
  // which the queued run joins.
  const list = textAt(header, 'tail') === queuedRunId ? relist(header, { runStatus: 'running' }) : NO_WRITE
  const refusal = await table.write([
    {
      update: headerKey(lease),
      when: all(mine(lease), headBelow(messageId), ...list.when),
      change: together(
        { set: { head: messageId, takeovers: 0 }, add: { queued: -1 } },
        countMessages([message]),
        list.change,
      ),
    },
    ...list.actions,
    {
      update: runKey(lease, queuedRunId),
      when: isQueued,
      change: {
        set: { status: 'merged', merged_into: lease.runId, merged_as: messageId },
        remove: namesOf('input'),
      },
    },
    putMessage(lease, message, texts),
    ...removeSteering(lease, queued),
  ])
  if (refusal === undefined) return message
  // An earlier attempt without a response may have stored the message after the reads above. The next attempt finds
  // that message.
  if (hasMoved(refusal, header) || (await table.read(messageKey(lease, messageId))) !== undefined) return MOVED
  if (refusal[0] !== undefined && !isHeld(refusal[0].item, lease)) throw new LeaseLost(lease.session, lease.generation)
  if (refusal[1 + list.actions.length] !== undefined) return undefined
  throw new TooltrailError('storage_failed', `message id ${messageId} is not greater than the log's last`)
}
