import { definedFields } from '../../../../domain/defined-fields.ts'
import { LeaseLost, TooltrailError } from '../../../../domain/errors.ts'
import type { Message, ToolMessage, UserMessage } from '../../../../domain/messages/message.ts'
import { interruptedCall, messageOfInput, withCompletion } from '../../../../domain/runs/run-changes.ts'
import type { EventPosition } from '../../../../domain/runs/event-position.ts'
import type { Lease } from '../../../../domain/session.ts'
import type { UsageAccount } from '../../../../domain/usage/usage-count.ts'
import type { CallResult, Round, RunLog } from '../../../../ports/run-log.ts'
import type { Database } from '../../database.ts'
import { writeLog, type LogDependencies } from '../write.ts'
import { recordDecision } from '../sessions/contexts.ts'
import { isSameMessage } from '../messages/message-codec.ts'
import {
  findLiveCall,
  findMessage,
  findToolMessage,
  insertMessage,
  updateToolMessage,
} from '../messages/message-rows.ts'
import { endRun, pause } from './run-endings.ts'
import { findRun, saveRun, type StoredRun } from './run-rows.ts'
import { counting, heldSession, withRun } from '../sessions/session-changes.ts'
import { counted, withCounted } from '../sessions/session-outline.ts'
import { saveSession, type SessionRow } from '../sessions/session-rows.ts'
import { countUsage } from '../usage/usage-rows.ts'

/** Creates the log writer of a session on SQLite. */
export function createSqliteRunLog(dependencies: LogDependencies): RunLog {
  const { database } = dependencies
  return {
    appendRound: (lease, round, account) => appendRound(dependencies, lease, round, account),
    append: (lease, messages) => append(dependencies, lease, messages),
    completeCall: (lease, result) => completeCall(dependencies, lease, result),
    beginApproved: (lease, messageId) => beginApproved(dependencies, lease, messageId),
    repair: (lease, messageIds, position) => repair(dependencies, lease, messageIds, position),
    steer: (lease, queuedRunId, messageId, position) =>
      steer(dependencies, lease, { queuedRunId, messageId, position }),
    recordDecision: async (lease, decision) => recordDecision(database, lease, decision),
    pause: async (lease) => pause(dependencies, lease),
    endRun: (lease, end, account) => endRun(dependencies, lease, end, account),
  }
}

function appendRound(
  dependencies: LogDependencies,
  lease: Lease,
  round: Round,
  account: UsageAccount = {},
): Promise<void> {
  const { database } = dependencies
  return writeLog(dependencies, () => {
    const row = heldSession(database, lease)
    if (isStored(database, row, round)) return
    const stored = runOfLease(database, row, lease)
    const messages = [round.assistant, ...round.tools]
    const session = withCounted(counted(database, row), messages)
    const head = insertAfter(database, row, stored, messages)
    const waiting = row.waiting + round.tools.filter(({ status }) => status === 'waiting').length
    saveRun(database, stored, withCompletion(stored.run, round.assistant))
    saveSession(database, row, counting({ ...session, head, waiting, takeovers: 0 }, round.assistant))
    countUsage(database, lease, round.assistant, account)
  })
}

function append(dependencies: LogDependencies, lease: Lease, messages: readonly Message[]): Promise<void> {
  const { database } = dependencies
  return writeLog(dependencies, () => {
    const row = heldSession(database, lease)
    const [first] = messages
    if (first === undefined || isSameMessage(findMessage(database, row.number, first.id), first)) return
    const session = withCounted(counted(database, row), messages)
    const head = insertAfter(database, row, runOfLease(database, row, lease), messages)
    saveSession(database, row, { ...session, head, takeovers: 0 })
  })
}

/** Adds messages after all others of the session, and returns the id of the last one. */
function insertAfter(database: Database, row: SessionRow, run: StoredRun, messages: readonly Message[]): string | null {
  let { head } = row
  for (const message of messages) {
    requireGreater(message.id, head)
    insertMessage(database, row.number, run.number, message)
    head = message.id
  }
  return head
}

/** Whether this round is already in the log. Throws if its completion's id belongs to another message. */
function isStored(database: Database, row: SessionRow, { assistant, tools }: Round): boolean {
  // The head is the log's last message, so no message has a greater id.
  if (row.head === null || assistant.id > row.head) return false
  const found = findMessage(database, row.number, assistant.id)
  if (found === undefined) return false
  const same =
    isSameMessage(found, assistant) &&
    tools.every(({ id, toolCallId }) => findToolMessage(database, row.number, id)?.toolCallId === toolCallId)
  if (same) return true
  throw new TooltrailError('storage_failed', `the log has another message ${assistant.id}`)
}

function requireGreater(id: string, head: string | null): void {
  if (head !== null && id <= head)
    throw new TooltrailError('storage_failed', `message id ${id} is not greater than the log's last, ${head}`)
}

function runOfLease(database: Database, row: SessionRow, lease: Lease): StoredRun {
  const stored = findRun(database, row.number, lease.runId)
  if (stored === undefined) throw new LeaseLost(lease.session, lease.generation)
  return stored
}

function completeCall(
  dependencies: LogDependencies,
  lease: Lease,
  { messageId, ...result }: CallResult,
): Promise<ToolMessage> {
  const { database } = dependencies
  return writeLog(dependencies, () => {
    // The lease is held if the call's row has the lease's generation. So the end of a call neither reads nor writes the
    // session's row.
    const found = findLiveCall(database, lease, messageId)
    if (found?.call.generation !== lease.generation) throw new LeaseLost(lease.session, lease.generation)
    const { session, call } = found
    const closed = { ...call, ...result }
    if (call.status === 'running') {
      updateToolMessage(database, session, closed)
      return closed
    }
    if (isSameMessage(call, closed)) return call
    throw new LeaseLost(lease.session, lease.generation)
  })
}

function beginApproved(dependencies: LogDependencies, lease: Lease, messageId: string): Promise<ToolMessage> {
  const { database } = dependencies
  return writeLog(dependencies, () => {
    const row = heldSession(database, lease)
    const call = findToolMessage(database, row.number, messageId)
    if (call?.status === 'running' && call.generation === lease.generation) return call
    if (call?.status !== 'approved') throw new LeaseLost(lease.session, lease.generation)
    const begun: ToolMessage = { ...call, status: 'running', generation: lease.generation }
    updateToolMessage(database, row.number, begun)
    return begun
  })
}

async function repair(
  dependencies: LogDependencies,
  lease: Lease,
  messageIds: readonly string[],
  position: EventPosition | undefined,
): Promise<readonly ToolMessage[]> {
  if (messageIds.length === 0) return []
  const { database, clock } = dependencies
  const completedAt = clock.now()
  return writeLog(dependencies, () => {
    const row = heldSession(database, lease)
    const calls = messageIds.map((id) => repairable(database, row, lease, id))
    return calls.map((call) => {
      if (call.status !== 'running') return call
      const repaired = interruptedCall(call, completedAt, position)
      updateToolMessage(database, row.number, repaired)
      return repaired
    })
  })
}

/** The queued run whose input becomes a message, and the id and position of this message. */
interface Steering {
  readonly queuedRunId: string
  readonly messageId: string
  readonly position: EventPosition | undefined
}

function repairable(database: Database, row: SessionRow, lease: Lease, id: string): ToolMessage {
  const call = findToolMessage(database, row.number, id)
  if (call === undefined) throw new TooltrailError('message_not_found', `the log has no tool message ${id}`)
  if (call.status === 'running' && call.generation !== lease.generation)
    throw new LeaseLost(lease.session, lease.generation)
  return call
}

function steer(
  dependencies: LogDependencies,
  lease: Lease,
  { queuedRunId, messageId, position }: Steering,
): Promise<UserMessage | undefined> {
  const { database, clock } = dependencies
  const now = clock.now()
  return writeLog(dependencies, () => {
    const row = heldSession(database, lease)
    const into = runOfLease(database, row, lease)
    const queued = findRun(database, row.number, queuedRunId)
    const before = findMessage(database, row.number, messageId)
    if (before?.role === 'user' && queued?.run.mergedInto === into.run.id) return before
    if (queued?.run.status !== 'queued') return undefined
    const input = messageOfInput(queued.run, into.run, messageId, now)
    if (input === undefined) return undefined
    const message = { ...input, ...definedFields({ position }) }
    requireGreater(messageId, row.head)
    const session = withCounted(counted(database, row), [message])
    insertMessage(database, row.number, into.number, message)
    const { input: _, ...rest } = queued.run
    saveRun(database, queued, { ...rest, status: 'merged', mergedInto: into.run.id, mergedAs: messageId })
    const latest = row.run === queuedRunId ? { run: into.run.id } : {}
    const next = { ...session, ...latest, queued: row.queued - 1, head: messageId, takeovers: 0 }
    saveSession(database, row, withRun(next, into.run))
    return message
  })
}
