/* Evidence, search: After deletions in any order, beside searches and rebuilds, the index has no row of a deleted session. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { isWhole } from '../../../whole.ts'
import { yieldToEventLoop } from '../../../../functions/domain/time/yield-to-event-loop.ts'
import { openDatabase, readOne, write, type Database } from '../../../../functions/adapters/sqlite/database.ts'
import type { HistoryProjection } from '../../../../functions/adapters/sqlite/history/documents/projection.ts'
import { rebuildSqliteHistory } from '../../../../functions/adapters/sqlite/history/documents/rebuild.ts'
import { createSqliteSessionDeletion } from '../../../../functions/adapters/sqlite/log/sessions/session-deletion.ts'
import { nextId } from '../../../../functions/domain/ids.ts'
import type { Message } from '../../../../functions/domain/messages/message.ts'
import type { SessionKey } from '../../../../functions/domain/session.ts'
import type { SessionDeletion } from '../../../../functions/ports/session-deletion.ts'
import { createManualClock } from '../../../contracts/stores.ts'
import { fc } from '../../../generators/seeded.ts'
import { indexFaults, leftovers } from './history-faults.ts'
import { projectionOn } from './projection.ts'
import { storeMessages } from '../log/stored-messages.ts'

/** Sessions of two tenants. In the first tenant, alice has two sessions, bob has one, and one session has no owner. */
const SESSIONS = [
  { tenant: 'acme', session: 's-1', owner: 'alice@example.com' },
  { tenant: 'acme', session: 's-2', owner: 'alice@example.com' },
  { tenant: 'acme', session: 's-3', owner: 'bob@example.com' },
  { tenant: 'acme', session: 's-4', owner: null },
  { tenant: 'rival', session: 's-1', owner: 'alice@example.com' },
] as const
/** More messages than one transaction stores, so their words are stored after their documents (`merge.ts`). */
const MANY = 257
/** More documents of a message than one transaction stores. */
const LONG = 'row after row\n'.repeat(4_000)
const WORDS = [
  'navalorchid',
  'zebra',
  'größe',
  "don't",
  'read_file',
  'src/app.ts',
  '日本語のテキスト',
  '🎉',
  'x'.repeat(70),
]

const session = fc.nat({ max: SESSIONS.length - 1 })
const text = fc.array(fc.constantFrom(...WORDS), { minLength: 1, maxLength: 3 }).map((words) => words.join(' '))
const role = fc.constantFrom('user' as const, 'assistant' as const, 'tool' as const)
const limit = fc.constantFrom(1, 2, 500)
const process = fc.nat({ max: 1 })
const action = fc.oneof(
  { weight: 6, arbitrary: fc.record({ kind: fc.constant('write' as const), session, text, role }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('write long' as const), session, text }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('write many' as const), session, text, role }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('change' as const), session, place: fc.nat(), text }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('search' as const), process }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('rebuild' as const), process }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('kill' as const), process }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('delete' as const), session }) },
  { weight: 6, arbitrary: fc.record({ kind: fc.constant('remove' as const), session, process, limit }) },
  { weight: 6, arbitrary: fc.record({ kind: fc.constant('wait' as const), ticks: fc.integer({ min: 1, max: 6 }) }) },
)
type Action = typeof action extends fc.Arbitrary<infer Value> ? Value : never

let folder: string
beforeEach(() => void (folder = mkdtempSync(join(tmpdir(), 'tooltrail-removals-'))))
afterEach(() => rmSync(folder, { recursive: true, force: true }))

interface Process {
  readonly database: Database
  readonly history: HistoryProjection
  readonly deletion: SessionDeletion
}

function openProcess(path: string): Process {
  const database = openDatabase(path)
  database.exec('PRAGMA synchronous = OFF')
  const history = projectionOn({
    database,
    outputs: { read: () => Promise.reject(new Error('nothing here is offloaded')) },
    report: (error) => expect.unreachable(String(error)),
  })
  return { database, history, deletion: createSqliteSessionDeletion({ database, clock: createManualClock(), history }) }
}

/** Opens a file with the sessions, and two processes that search, rebuild and delete. */
function openFile(path: string) {
  const log = openProcess(path)
  for (const { tenant, session: id, owner } of SESSIONS) {
    const sql = `INSERT INTO sessions (tenant, session, agent, owner, createdAt, updatedAt, totals) VALUES (?, ?, 'default', ?, 0, 0, '{}')`
    write(log.database, sql, tenant, id, owner)
  }
  const processes = [openProcess(path), openProcess(path)]
  const working = new Set<Promise<unknown>>()
  const stored = new Map<number, Message[]>()
  let last: string | undefined

  const keyOf = (place: number): SessionKey => SESSIONS[place] ?? expect.unreachable()
  const processOf = (place: number): Process => processes[place] ?? expect.unreachable()
  const isLive = (place: number): boolean => {
    const { tenant, session: id } = keyOf(place)
    return (
      readOne(log.database, 'SELECT 1 FROM sessions WHERE tenant = ? AND session = ? AND live = 1', tenant, id) !==
      undefined
    )
  }
  function say(place: number, said: readonly string[], as: Message['role'] = 'user'): void {
    if (!isLive(place)) return
    const made = said.map((one) => {
      last = nextId(last, 1_700_000_000_000)
      return messageOf(last, as, one)
    })
    stored.set(place, [...(stored.get(place) ?? []), ...made])
    storeMessages(log.database, keyOf(place), made)
  }
  /** Starts work whose errors are ignored, because its process may be killed. */
  function begin({ database }: Process, work: Promise<unknown>): void {
    const ended: Promise<unknown> = work
      .catch((error: unknown) => {
        if (database.isOpen) throw error
      })
      .finally(() => working.delete(ended))
    working.add(ended)
  }
  const remove = (place: number, by: number, most: number): Promise<{ more: boolean }> =>
    processOf(by).deletion.removeRows(keyOf(place), most)

  return {
    database: log.database,
    isLive,
    remove,
    tombstone: (place: number) => log.deletion.tombstone(keyOf(place)),
    async settled() {
      await Promise.all(working)
      await processOf(0).history.merge()
    },
    async take(one: Action) {
      switch (one.kind) {
        case 'write':
          return say(one.session, [one.text], one.role)
        case 'write long':
          return say(one.session, [`${one.text} ${LONG}`])
        case 'write many':
          return say(
            one.session,
            Array.from({ length: MANY }, () => one.text),
            one.role,
          )
        case 'change': {
          const messages = stored.get(one.session) ?? []
          const message = messages[one.place % Math.max(1, messages.length)]
          if (message === undefined || !isLive(one.session)) return
          return storeMessages(log.database, keyOf(one.session), [messageOf(message.id, message.role, one.text)])
        }
        case 'search':
          return begin(processOf(one.process), processOf(one.process).history.merge())
        case 'rebuild':
          return begin(processOf(one.process), rebuildSqliteHistory(processOf(one.process)))
        case 'kill':
          processOf(one.process).database.close()
          processes[one.process] = openProcess(path)
          return
        case 'delete':
          return void (await log.deletion.tombstone(keyOf(one.session)))
        case 'remove':
          return void (await remove(one.session, one.process, one.limit))
        case 'wait':
          for (let tick = 0; tick < one.ticks; tick++) await yieldToEventLoop()
          return
        default:
          return one satisfies never
      }
    },
    async close() {
      await Promise.allSettled(working)
      for (const { database } of [log, ...processes]) database.close()
    },
  }
}

function messageOf(id: string, as: Message['role'], said: string): Message {
  const base = {
    id,
    runId: 'run-1',
    agent: 'default',
    round: 0,
    createdAt: 0,
    parts: [{ type: 'text', text: said }],
  } as const
  if (as === 'user') return { ...base, role: 'user' }
  if (as === 'assistant') return { ...base, role: 'assistant', toolCalls: [] }
  const call = { assistantMessageId: id, toolCallId: 'c', toolName: 'look', call: 'look(at="zebra")', sequence: 0 }
  return { ...base, ...call, role: 'tool', status: 'completed', generation: 1 }
}

const ALL = SESSIONS.map((_, place) => place)
let files = 0

async function play(actions: readonly Action[], removals: readonly number[]) {
  const file = openFile(join(folder, `${++files}.db`))
  try {
    for (const one of actions) await file.take(one)
    for (const place of ALL) if (!file.isLive(place)) while ((await file.remove(place, 0, 500)).more);
    await file.settled()
    expect(indexFaults(file.database)).toEqual([])

    for (const place of ALL) await file.tombstone(place)
    for (const one of removals) await file.remove(one, 1, 1)
    for (const place of ALL) while ((await file.remove(place, 0, 500)).more);
    expect(leftovers(file.database)).toEqual([])
    await file.settled()
    expect(leftovers(file.database)).toEqual([])
  } finally {
    await file.close()
  }
}

test('removals in any order, with concurrent searches, rebuilds and crashes, leave no rows', async () => {
  const removals = fc.array(session, { maxLength: 60 })
  await fc.assert(fc.asyncProperty(fc.array(action, { maxLength: 25 }), removals, play), {
    numRuns: isWhole ? 200 : 20,
  })
})
