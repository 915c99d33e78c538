import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { openDatabase, readAll } from '../../../../functions/adapters/sqlite/database.ts'
import { createSqliteLogReader } from '../../../../functions/adapters/sqlite/log/messages/log-reader.ts'
import { createSqliteRunInbox } from '../../../../functions/adapters/sqlite/log/runs/run-inbox.ts'
import { createSqliteRunLease } from '../../../../functions/adapters/sqlite/log/runs/run-lease.ts'
import { createSqliteRunLog } from '../../../../functions/adapters/sqlite/log/runs/run-log.ts'
import { createSqliteSessionStore } from '../../../../functions/adapters/sqlite/log/sessions/session-store.ts'
import { nextIds } from '../../../../functions/domain/ids.ts'
import type { Lease } from '../../../../functions/domain/session.ts'
import type { NewRun } from '../../../../functions/ports/run-inbox.ts'
import type { Round } from '../../../../functions/ports/run-log.ts'
import { projectMessage } from '../../../../functions/search/documents/documents.ts'
import { createManualClock } from '../../../contracts/stores.ts'
import { projectionOn } from '../history/projection.ts'

const KEY = { tenant: 'default', session: 'a-session' }

/** Opens a log with its index. */
function open() {
  const database = openDatabase(':memory:')
  const clock = createManualClock()
  const reported: unknown[] = []
  const history = projectionOn({
    database,
    outputs: { read: () => Promise.reject(new Error('nothing here is offloaded')) },
    report: (error) => void reported.push(error),
  })
  const dependencies = { database, clock, history }
  return {
    sessions: createSqliteSessionStore(dependencies),
    inbox: createSqliteRunInbox(dependencies),
    lease: createSqliteRunLease(dependencies),
    log: createSqliteRunLog(dependencies),
    reader: createSqliteLogReader(dependencies),
    database,
    clock,
    history,
  }
}
type Opened = ReturnType<typeof open>

const newRun = (run: Partial<NewRun> = {}): NewRun => ({
  agent: 'helper',
  trigger: 'input',
  onBusy: 'queue',
  clientTools: [],
  input: { parts: [{ type: 'text', text: 'hello' }] },
  ...run,
})

function roundOf(lease: Lease, now: number, needs?: 'approval'): Round {
  const [id = '', toolId = ''] = nextIds(lease.head, now, 2)
  const base = { runId: lease.runId, agent: 'helper', round: 0, createdAt: now }
  const state = needs === undefined ? { status: 'running' as const } : { status: 'waiting' as const, needs }
  return {
    assistant: {
      ...base,
      id,
      role: 'assistant',
      parts: [{ type: 'tool_call', id: 'c' }],
      toolCalls: [{ id: 'c', name: 'list', arguments: '{}' }],
    },
    tools: [
      {
        ...base,
        ...state,
        id: toolId,
        role: 'tool',
        assistantMessageId: id,
        toolCallId: 'c',
        toolName: 'list',
        call: 'list()',
        sequence: 0,
        parts: [],
        generation: lease.generation,
      },
    ],
  }
}

const nothingOffloaded = (): never => {
  throw new Error('nothing here is offloaded')
}

/** Expects that the index agrees with the log about every message. */
async function expectInStep({ database, reader, history }: Opened): Promise<void> {
  await history.merge()
  const { messages } = await reader.messages(KEY, { order: 'ascending', limit: 100 })
  const documents = await Promise.all(
    messages.map((message) => Array.fromAsync(projectMessage(message, { key: KEY }, nothingOffloaded))),
  )
  const wanted = documents
    .flat()
    .map(({ messageId, part, text, status }) => ({ messageId, part, text, status: status ?? null }))
  const indexed = readAll(
    database,
    `SELECT m.message AS messageId, d.part, d.text, m.status FROM historyDocuments d JOIN historyMessages m ON m.id = d.message
     ORDER BY m.message, d.part`,
  )
  expect(indexed).toEqual(wanted)
}

describe('the history index and the log', () => {
  test('agree after every write, including the session’s owner', async () => {
    const opened = open()
    const { sessions, inbox, lease, log, clock, database } = opened
    await sessions.create({ ...KEY, agent: 'helper', owner: 'ada', metadata: {} })
    const { started } = await inbox.enqueue(KEY, newRun({ startAs: 'me' }))
    if (started === undefined) throw new Error('the run was not started')
    await expectInStep(opened)
    const round = roundOf(started.lease, clock.now(), 'approval')
    const call = round.tools[0]?.id ?? ''
    await log.appendRound(started.lease, round)
    await expectInStep(opened)
    await log.pause(started.lease)
    await inbox.resolve(KEY, started.run.id, [{ toolCallId: 'c', kind: 'approval', approved: true, hash: 'h' }])
    await expectInStep(opened)
    const header = await lease.readHeader(KEY)
    const taken = header && (await lease.take(header, 'again'))
    if (taken === undefined) throw new Error('the run was not taken')
    await log.beginApproved(taken, call)
    await expectInStep(opened)
    const result = {
      status: 'completed',
      parts: [{ type: 'text', text: 'one' }],
      completedAt: 1,
      durationMs: 1,
    } as const
    await log.completeCall(taken, { messageId: call, ...result })
    await expectInStep(opened)
    await log.endRun(taken, { outcome: 'cancelled', stopReason: 'cancelled' })
    await expectInStep(opened)
    expect(readAll(database, 'SELECT DISTINCT owner FROM historyMessages')).toEqual([{ owner: 'ada' }])
  })

  test('are current soon after a write, even without a search', async () => {
    const { sessions, inbox, database } = open()
    await sessions.create({ ...KEY, agent: 'helper', metadata: {} })
    await inbox.enqueue(KEY, newRun({ startAs: 'me' }))
    const marks = (): unknown[] => readAll(database, 'SELECT * FROM historyMarks')
    expect(marks()).toHaveLength(1)
    for (let waited = 0; waited < 100 && marks().length > 0; waited++) await sleep(50)
    expect(marks()).toEqual([])
  })

  test('both remain unchanged if a message cannot be marked as pending', async () => {
    const opened = open()
    const { sessions, inbox, lease, reader, database } = opened
    await sessions.create({ ...KEY, agent: 'helper', metadata: {} })
    database.exec("CREATE TRIGGER broken BEFORE INSERT ON historyMarks BEGIN SELECT raise(ABORT, 'no marks'); END")
    await expect(inbox.enqueue(KEY, newRun({ startAs: 'me' }))).rejects.toThrow('no marks')
    expect((await reader.messages(KEY, { order: 'ascending', limit: 100 })).messages).toEqual([])
    expect((await reader.runs(KEY, { limit: 10 })).runs).toEqual([])
    expect(await lease.readHeader(KEY)).not.toHaveProperty('activeRun')
  })

  test('an input is queued if another input makes the session busy at the same moment', async () => {
    const { sessions, inbox, lease } = open()
    await sessions.create({ ...KEY, agent: 'helper', metadata: {} })
    const [faster, slower] = await Promise.all([
      inbox.enqueue(KEY, newRun({ startAs: 'faster' })),
      inbox.enqueue(KEY, newRun({ startAs: 'slower' })),
    ])
    expect(faster.started).toBeDefined()
    expect(slower.started).toBeUndefined()
    expect(await lease.readHeader(KEY)).toMatchObject({ queued: 1, lease: { owner: 'faster' } })
  })
})
