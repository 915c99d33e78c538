import { yieldToEventLoop } from '../../../../domain/time/yield-to-event-loop.ts'
import type { Message } from '../../../../domain/messages/message.ts'
import type { SessionKey } from '../../../../domain/session.ts'
import { createPage, messageLength, runLength } from '../../../../log/message-length.ts'
import type { LogReader, MessageQuery } from '../../../../ports/log-reader.ts'
import { roleCode, runStatusCode } from '../codes.ts'
import { findContext } from '../sessions/contexts.ts'
import { readEach, reading, snapshot, type Database } from '../../database.ts'
import { toColumn } from '../../exact-text.ts'
import { findLiveMessage, messageOf, SELECT_MESSAGES, type MessageRow } from './message-rows.ts'
import { findReplacements } from '../runs/replacement-rows.ts'
import { findRun, queuedRuns, runOf, SELECT_RUNS, steeringRuns, type RunRow } from '../runs/run-rows.ts'
import { readNumbers } from './source-rows.ts'
import { findLiveNumber } from '../sessions/session-rows.ts'

type Value = string | number

/** Sorts after every ULID. */
const AFTER_ALL_IDS = '~'

/** If the messages of one read have more characters than this, the reader yields to the event loop afterwards. */
const LARGE = 256 * 1024

/** Creates the reader of sessions' logs on SQLite. A deleted session looks like one that never existed. */
export function createSqliteLogReader({ database }: { database: Database }): LogReader {
  /** Runs `work` with the session's number. Returns `absent` if the session does not exist. */
  const readNow = <Result>(key: SessionKey, absent: Result, work: (session: number) => Result): Result =>
    snapshot(database, () => {
      const number = findLiveNumber(database, key)
      return number === undefined ? absent : work(number)
    })
  const read = async <Result>(...given: Parameters<typeof readNow<Result>>): Promise<Result> => readNow(...given)
  /** SQLite never yields to the event loop by itself, so the reader yields after a large read. */
  let turn: Promise<void> | undefined
  async function afterLarge(messages: readonly Message[]): Promise<void> {
    if (messages.reduce((sum, message) => sum + messageLength(message), 0) <= LARGE) return
    turn = yieldToEventLoop().then(() => (turn = undefined))
    await turn
  }
  return {
    async messages(key, query) {
      const absent = { messages: [], more: false }
      while (turn !== undefined) await turn
      const page = readNow(key, absent, (session) => readMessages(database, session, query))
      await afterLarge(page.messages)
      return page
    },
    replacements: (key) => read(key, [], (session) => findReplacements(database, session)),
    context: (key) => read(key, {}, (session) => findContext(database, session)),
    sources: (key, query) =>
      read(key, { numbered: [], more: false }, (session) => readNumbers(database, session, query)),
    async message(key, id) {
      while (turn !== undefined) await turn
      const message = reading(database, () => findLiveMessage(database, key, id)?.message)
      if (message !== undefined) await afterLarge([message])
      return message
    },
    run: (key, id) => read(key, undefined, (session) => findRun(database, session, id)?.run),
    runs: (key, query) => read(key, { runs: [], more: false }, (session) => readRuns(database, session, query)),
    queued: (key, limit = -1) => read(key, [], (session) => queuedRuns(database, session, limit).map(({ run }) => run)),
    steering: (key, limit) => read(key, [], (session) => steeringRuns(database, session, limit)),
  }
}

function readMessages(
  database: Database,
  session: number,
  query: MessageQuery,
): Awaited<ReturnType<LogReader['messages']>> {
  const run = query.run === undefined ? undefined : findRun(database, session, query.run)
  if (query.run !== undefined && run === undefined) return { messages: [], more: false }
  // The index of a run's messages is ordered by number. Numbers and ids have the same order.
  const conditions: (readonly [sql: string, values: readonly Value[]])[] =
    run === undefined ? [['m.session = ?', [session]]] : [['m.run = ?', [run.number]]]
  if (query.after !== undefined) conditions.push(['m.id > ?', [query.after]])
  if (query.before !== undefined) conditions.push(['m.id < ?', [query.before]])
  if (query.agent !== undefined) conditions.push(['m.agent = ?', [toColumn(query.agent)]])
  if (query.parentToolCallId !== undefined) conditions.push(['m.parent = ?', [toColumn(query.parentToolCallId)]])
  if (query.roles !== undefined)
    conditions.push([`m.role IN (${query.roles.map(() => '?').join(', ')})`, query.roles.map(roleCode)])
  const sql = `${SELECT_MESSAGES} WHERE ${conditions.map(([condition]) => condition).join(' AND ')}
    ORDER BY ${run === undefined ? 'm.id' : 'm.number'} ${query.order === 'ascending' ? 'ASC' : 'DESC'} LIMIT ?`
  const values = conditions.flatMap(([, bound]) => bound)
  const page = createPage(messageLength, query.limit, query.mostCharacters)
  // Rows are read one at a time. Rows after the page's end are neither kept in memory nor unpacked.
  for (const row of readEach<MessageRow>(database, sql, ...values, query.limit + 1))
    if (page.isFull() || !page.take(messageOf(row))) return { messages: page.entries, more: true }
  return { messages: page.entries, more: false }
}

function readRuns(
  database: Database,
  session: number,
  { before, limit, status, mostCharacters }: Parameters<LogReader['runs']>[1],
): Awaited<ReturnType<LogReader['runs']>> {
  const sql = `${SELECT_RUNS} WHERE r.session = ?1 AND r.id < ?2 AND (?3 IS NULL OR r.status = ?3)
    ORDER BY r.id DESC LIMIT ?4`
  const code = status === undefined ? null : runStatusCode(status)
  const page = createPage(runLength, limit, mostCharacters)
  for (const row of readEach<RunRow>(database, sql, session, before ?? AFTER_ALL_IDS, code, limit + 1))
    if (!page.take(runOf(row).run)) return { runs: page.entries, more: true }
  return { runs: page.entries, more: false }
}
