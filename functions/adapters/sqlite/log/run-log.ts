import { LeaseLost, TooltrailError } from '../../../domain/errors.ts'
import { isLeaders, type ToolMessage, type UserMessage } from '../../../domain/message.ts'
import { interruptedCall, messageOfInput } from '../../../domain/run-changes.ts'
import type { Lease } from '../../../domain/session.ts'
import type { CallResult, Round, RunLog } from '../../../ports/run-log.ts'
import type { Database } from '../database.ts'
import { writeLog, type LogDependencies } from './write.ts'
import { isSameMessage } from './message-codec.ts'
import { findLiveCall, findMessage, findToolMessage, insertMessage, updateToolMessage } from './message-rows.ts'
import { endRun, pause } from './run-endings.ts'
import { findRun, saveRun, type StoredRun } from './run-rows.ts'
import { heldSession, withFinalMessage, withRun } from './session-changes.ts'
import { saveSession, type SessionRow } from './session-rows.ts'

/** Extends one session's log, on SQLite. */
export function createSqliteRunLog(dependencies: LogDependencies): RunLog {
  return {
    appendRound: (lease, round) => appendRound(dependencies, lease, round),
    completeCall: (lease, result) => completeCall(dependencies, lease, result),
    beginApproved: (lease, messageId) => beginApproved(dependencies, lease, messageId),
    repair: (lease, messageIds) => repair(dependencies, lease, messageIds),
    steer: (lease, queuedRunId, messageId) => steer(dependencies, lease, queuedRunId, messageId),
    pause: async (lease) => pause(dependencies, lease),
    endRun: (lease, end) => endRun(dependencies, lease, end),
  }
}

function appendRound(dependencies: LogDependencies, lease: Lease, round: Round): Promise<void> {
  const { database } = dependencies
  return writeLog(dependencies, () => {
    const row = heldSession(database, lease)
    if (isStored(database, row, round)) return
    const stored = runOfLease(database, row, lease)
    let head = row.head
    for (const message of [round.assistant, ...round.tools]) {
      requireGreater(message.id, head)
      insertMessage(database, row.number, stored.number, message)
      head = message.id
    }
    const waiting = row.waiting + round.tools.filter(({ status }) => status === 'waiting').length
    const floor = isLeaders(round.assistant) ? round.assistant.id : row.floor
    const next = withFinalMessage({ ...row, head, waiting, floor, takeovers: 0 }, stored.run, round.assistant)
    saveRun(database, stored, next.run)
    saveSession(database, row, next.row)
  })
}

/** Whether this very round is in the log; throws when its id is taken by another message. */
function isStored(database: Database, row: SessionRow, { assistant, tools }: Round): boolean {
  // No message has an id after the head.
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
    // Does not ask who holds the lease, so that parallel calls need not wait for each other: the row's own generation tells.
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
): Promise<readonly ToolMessage[]> {
  if (messageIds.length === 0) return []
  const { database, clock } = dependencies
  const completedAt = clock.now()
  return writeLog(dependencies, () => {
    const row = heldSession(database, lease)
    const calls = messageIds.map((id) => repairable(database, row, lease, id))
    return calls.map((call) => {
      if (call.status !== 'running') return call
      const repaired = interruptedCall(call, completedAt)
      updateToolMessage(database, row.number, repaired)
      return repaired
    })
  })
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
  queuedRunId: string,
  messageId: string,
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
    const message = messageOfInput(queued.run, into.run, messageId, now)
    if (message === undefined) return undefined
    requireGreater(messageId, row.head)
    insertMessage(database, row.number, into.number, message)
    const { input: _, ...rest } = queued.run
    saveRun(database, queued, { ...rest, status: 'merged', mergedInto: into.run.id })
    const latest = row.run === queuedRunId ? { run: into.run.id } : {}
    const next = { ...row, ...latest, queued: row.queued - 1, head: messageId, takeovers: 0 }
    saveSession(database, row, withRun(next, into.run))
    return message
  })
}
