import { TooltrailError } from '../../../../domain/errors.ts'
import {
  progressAfter,
  type ImportName,
  type ImportProgress,
  type ImportStep,
} from '../../../../domain/messages/imported.ts'
import type { SessionHeader, SessionKey } from '../../../../domain/session.ts'
import { openingOfMessages } from '../../../../log/title.ts'
import type { LogImport } from '../../../../ports/log-import.ts'
import { readOne, snapshot, write, type Database } from '../../database.ts'
import { insertMessage } from './message-rows.ts'
import { CLAIM_MS, NEVER } from '../runs/claims.ts'
import { supersede } from '../runs/replacement-rows.ts'
import { findRun, insertRun, saveRun } from '../runs/run-rows.ts'
import { active, alive, awaitingCopy } from '../sessions/session-changes.ts'
import { counted, introduced, withCounted } from '../sessions/session-outline.ts'
import { findLiveSession, liveSession, saveSession, type SessionRow } from '../sessions/session-rows.ts'
import { writeLog, type LogDependencies } from '../write.ts'

/** Creates the import of turns that were executed elsewhere, on SQLite. */
export function createSqliteLogImport(dependencies: LogDependencies): LogImport {
  const { database, clock } = dependencies
  return {
    progress: async (key, name) => progress(database, key, name, clock.now()),
    append: (seen, step) => append(dependencies, seen, step),
  }
}

function progress(database: Database, key: SessionKey, name: ImportName, now: number): ImportProgress | undefined {
  return snapshot(database, () => stored(database, liveSession(database, key), name, now))
}

function stored(database: Database, row: SessionRow, name: ImportName, now: number): ImportProgress | undefined {
  const sql = 'SELECT bodyHash, result FROM claims WHERE session = ? AND keyHash = ? AND until >= ?'
  const claim = readOne<{ bodyHash: string; result: string | null }>(database, sql, row.number, name.keyHash, now)
  if (claim === undefined) return undefined
  if (claim.bodyHash !== name.bodyHash || claim.result === null)
    throw new TooltrailError('idempotency_conflict', 'the idempotency key was used for another request')
  return JSON.parse(claim.result) as ImportProgress
}

function append(
  dependencies: LogDependencies,
  seen: SessionHeader,
  step: ImportStep,
): Promise<ImportProgress | undefined> {
  const { database, clock } = dependencies
  const now = clock.now()
  return writeLog(dependencies, () => {
    const row = findLiveSession(database, seen)
    if (row === undefined || !isIdleAs(row, seen)) return undefined
    const before = step.name && stored(database, row, step.name, now)
    if (before?.messages !== step.before?.messages) return undefined
    const after = progressAfter(step)
    const opened = introduced(database, counted(database, row), openingOfMessages(step.messages))
    const left = step.replaces === undefined ? opened : supersede(database, opened, step.replaces)
    const numbers = saveRuns(database, row, step)
    for (const message of step.messages) {
      const run = numbers.get(message.runId)
      if (run === undefined) throw new Error(`message ${message.id} has no run in its step`)
      insertMessage(database, row.number, run, message)
    }
    if (step.name !== undefined) remember(database, row, step.name, after, now)
    const next = { ...withCounted(left, step.messages), head: after.last, generation: row.generation + 1 }
    saveSession(database, row, active(step.isPartOfCopy ? awaitingCopy(next, now) : alive(next, now), now))
    return after
  })
}

/** Whether the session is idle, and no process has worked on it since `seen` was read. */
const isIdleAs = (row: SessionRow, seen: SessionHeader): boolean =>
  row.generation === seen.generation && row.leaseOwner === null && row.activeRun === null && row.queued === 0

function saveRuns(database: Database, row: SessionRow, { runs }: ImportStep): Map<string, number> {
  const numbers = new Map<string, number>()
  for (const { run, isNew } of runs) {
    const before = isNew ? undefined : findRun(database, row.number, run.id)
    const saved = before === undefined ? insertRun(database, row.number, run) : saveRun(database, before, run)
    numbers.set(run.id, saved.number)
  }
  return numbers
}

function remember(database: Database, row: SessionRow, name: ImportName, after: ImportProgress, now: number): void {
  const until = name.forGood ? NEVER : now + CLAIM_MS
  const sql = 'INSERT OR REPLACE INTO claims (session, keyHash, bodyHash, run, until, result) VALUES (?, ?, ?, ?, ?, ?)'
  write(database, sql, row.number, name.keyHash, name.bodyHash, after.run, until, JSON.stringify(after))
}
