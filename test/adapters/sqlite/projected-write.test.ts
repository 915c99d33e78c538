import { describe, expect, test } from 'vitest'
import { openDatabase, type Database } from '../../../functions/adapters/sqlite/database.ts'
import type { HistoryProjection, MessageDocuments } from '../../../functions/adapters/sqlite/history-projection.ts'
import { createSqliteLogReader } from '../../../functions/adapters/sqlite/log-reader.ts'
import { createSqliteRunInbox } from '../../../functions/adapters/sqlite/run-inbox.ts'
import { createSqliteRunLease } from '../../../functions/adapters/sqlite/run-lease.ts'
import { createSqliteRunLog } from '../../../functions/adapters/sqlite/run-log.ts'
import { createSqliteSessionStore } from '../../../functions/adapters/sqlite/session-store.ts'
import type { HistoryDocument } from '../../../functions/domain/history.ts'
import { nextIds } from '../../../functions/domain/ids.ts'
import type { Message } from '../../../functions/domain/message.ts'
import type { Lease, SessionHeader } from '../../../functions/domain/session.ts'
import type { NewRun } from '../../../functions/ports/run-inbox.ts'
import type { Round } from '../../../functions/ports/run-log.ts'
import { createManualClock } from '../../contracts/stores.ts'

const KEY = { tenant: 'default', session: 'a-session' }

/** Documents that quote the whole message, and what was written of them, by message. */
interface Recorded {
  readonly history: HistoryProjection
  readonly written: Map<string, readonly HistoryDocument[]>
  /** Awaited before documents are computed; throws where a test wants that. */
  onDocuments: (message: Message) => Promise<void>
  onWrite: (messages: readonly MessageDocuments[]) => void
}

function record(): Recorded {
  const written = new Map<string, readonly HistoryDocument[]>()
  const recorded: Recorded = {
    written,
    onDocuments: async () => undefined,
    onWrite: () => undefined,
    history: {
      documents: async (message, { key }) => {
        await recorded.onDocuments(message)
        const { runId, agent, createdAt: time } = message
        const document = { ...key, runId, agent, messageId: message.id, part: 'u', role: 'user', time } as const
        return [{ ...document, text: JSON.stringify(message) }]
      },
      write: (_key, messages) => {
        recorded.onWrite(messages)
        for (const { messageId, documents } of messages) written.set(messageId, documents)
      },
      remove: () => 0,
    },
  }
  return recorded
}

function open(database: Database = openDatabase(':memory:')) {
  const recorded = record()
  const clock = createManualClock()
  const dependencies = { database, clock, history: recorded.history }
  const ports = {
    sessions: createSqliteSessionStore(dependencies),
    inbox: createSqliteRunInbox(dependencies),
    lease: createSqliteRunLease(dependencies),
    log: createSqliteRunLog(dependencies),
    reader: createSqliteLogReader(dependencies),
  }
  return { ...ports, recorded, clock }
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

async function seen({ lease }: Opened): Promise<SessionHeader> {
  const header = await lease.look(KEY)
  if (header === undefined) throw new Error('the session has no header')
  return header
}

async function storedMessages({ reader }: Opened): Promise<readonly Message[]> {
  return (await reader.messages(KEY, { order: 'ascending', limit: 100 })).messages
}

/** The index says of every message what the log says. */
async function expectInStep(opened: Opened): Promise<void> {
  const messages = await storedMessages(opened)
  const indexed = [...opened.recorded.written.values()].flat().map(({ text }) => JSON.parse(text) as Message)
  expect(indexed.toSorted((a, b) => (a.id < b.id ? -1 : 1))).toEqual(messages)
}

describe('the history index and the log', () => {
  test('are in step after every write, with the session’s owner', async () => {
    const opened = open()
    const { sessions, inbox, lease, log, recorded, clock } = opened
    await sessions.create({ ...KEY, agent: 'helper', owner: 'ada', metadata: {} })
    const { started } = await inbox.enqueue(KEY, newRun({ startAs: 'me' }))
    if (started === undefined) throw new Error('the run was not started')
    await expectInStep(opened)
    const round = roundOf(started.lease, clock.now(), 'approval')
    const call = round.tools[0]?.id ?? ''
    await log.appendRound(started.lease, round)
    await expectInStep(opened)
    await log.pause(started.lease)
    await inbox.answer(KEY, started.run.id, [{ toolCallId: 'c', kind: 'approval', approved: true, hash: 'h' }])
    await expectInStep(opened)
    const taken = await lease.take(await seen(opened), 'again')
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
    expect([...recorded.written.values()].flat().every(({ owner }) => owner === 'ada')).toBe(true)
  })

  test('are both as before when the index cannot be written', async () => {
    const opened = open()
    await opened.sessions.create({ ...KEY, agent: 'helper', metadata: {} })
    opened.recorded.onWrite = () => {
      throw new Error('index is broken')
    }
    await expect(opened.inbox.enqueue(KEY, newRun({ startAs: 'me' }))).rejects.toThrow('index is broken')
    expect(await storedMessages(opened)).toEqual([])
    expect(await seen(opened)).not.toHaveProperty('activeRun')
  })

  test('are both as before when documents cannot be computed', async () => {
    const opened = open()
    await opened.sessions.create({ ...KEY, agent: 'helper', metadata: {} })
    opened.recorded.onDocuments = async () => {
      throw new Error('the output cannot be read')
    }
    await expect(opened.inbox.enqueue(KEY, newRun({ startAs: 'me' }))).rejects.toThrow('the output cannot be read')
    expect((await opened.reader.runs(KEY, { limit: 10 })).runs).toEqual([])
  })

  test('agree when another write changes what is written while documents are computed', async () => {
    const opened = open()
    const { sessions, inbox, lease, recorded } = opened
    await sessions.create({ ...KEY, agent: 'helper', metadata: {} })
    const first = await inbox.enqueue(KEY, newRun())
    const second = await inbox.enqueue(KEY, newRun({ input: { parts: [{ type: 'text', text: 'second' }] } }))
    let cancelled = false
    recorded.onDocuments = async () => {
      if (!cancelled) await inbox.cancel(KEY, first.runId)
      cancelled = true
    }
    const started = await lease.start(await seen(opened), 'me')
    expect(started?.run.id).toBe(second.runId)
    expect(await storedMessages(opened)).toMatchObject([{ parts: [{ text: 'second' }] }])
    await expectInStep(opened)
  })

  test('take an input that meets a busy session while documents are computed as queued', async () => {
    const opened = open()
    const { sessions, inbox, recorded } = opened
    await sessions.create({ ...KEY, agent: 'helper', metadata: {} })
    let raced = false
    recorded.onDocuments = async () => {
      if (raced) return
      raced = true
      await inbox.enqueue(KEY, newRun({ startAs: 'faster' }))
    }
    const slower = await inbox.enqueue(KEY, newRun({ startAs: 'slower' }))
    expect(slower.started).toBeUndefined()
    expect(await seen(opened)).toMatchObject({ queued: 1, lease: { owner: 'faster' } })
    await expectInStep(opened)
  })
})
