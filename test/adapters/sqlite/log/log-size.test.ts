import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { openDatabase, readAll } from '../../../../functions/adapters/sqlite/database.ts'
import { createSqliteRunInbox } from '../../../../functions/adapters/sqlite/log/runs/run-inbox.ts'
import { createSqliteRunLog } from '../../../../functions/adapters/sqlite/log/runs/run-log.ts'
import { createSqliteSessionStore } from '../../../../functions/adapters/sqlite/log/sessions/session-store.ts'
import { nextIds } from '../../../../functions/domain/ids.ts'
import type { Lease } from '../../../../functions/domain/session.ts'
import { createManualClock } from '../../../contracts/stores.ts'

const TURNS = 200
const LOG_TABLES = ['sessions', 'details', 'deletions', 'runs', 'requests', 'claims', 'messages']
const usage = {
  inputTokens: 12_345,
  cachedInputTokens: 10_240,
  cacheWriteTokens: 0,
  outputTokens: 234,
  reasoningTokens: 0,
  totalTokens: 12_579,
}

/**
 * Returns words of about English length, with some line ends and quotes, like tool output. Text of one letter, or random
 * text, would compress differently.
 */
function textOf(bytes: number, seed: number): string {
  let text = ''
  for (let n = seed; text.length < bytes; n = (n * 1_103_515_245 + 12_345) % 2_147_483_648)
    text += n % 12 === 0 ? '\n' : n % 29 === 0 ? '"id": ' : `${n.toString(36).slice(0, 2 + (n % 6))} `
  return text.slice(0, bytes)
}

async function storeTurns(path: string): Promise<{ tables: { name: string; bytes: number }[]; writeMs: number }> {
  const database = openDatabase(path)
  const clock = createManualClock()
  const history = { written: () => undefined }
  const dependencies = { database, clock, history }
  const inbox = createSqliteRunInbox(dependencies)
  const log = createSqliteRunLog(dependencies)
  const key = { tenant: 'default', session: 'a-session' }
  await createSqliteSessionStore(dependencies).create({ ...key, agent: 'default', metadata: {} })
  const began = performance.now()
  for (let turn = 0; turn < TURNS; turn++) {
    clock.advance(30_000)
    const { started } = await inbox.enqueue(key, {
      agent: 'default',
      trigger: 'input',
      onBusy: 'queue',
      clientTools: [],
      startAs: 'owner',
      input: { parts: [{ type: 'text', text: textOf(200, turn) }] },
    })
    if (started === undefined) throw new Error('the session was not idle')
    await storeRounds(log, started.lease, turn, () => (clock.advance(700), clock.now()))
  }
  const writeMs = performance.now() - began
  const sql = `SELECT s.tbl_name AS name, sum(d.pgsize) AS bytes FROM dbstat d JOIN sqlite_schema s ON s.name = d.name
    GROUP BY s.tbl_name ORDER BY bytes DESC`
  const tables = readAll<{ name: string; bytes: number }>(database, sql)
  database.close()
  return { tables: tables.filter(({ name }) => LOG_TABLES.includes(name)), writeMs }
}

async function storeRounds(log: ReturnType<typeof createSqliteRunLog>, lease: Lease, turn: number, now: () => number) {
  const [id = '', first = '', second = '', last = ''] = nextIds(lease.head, now(), 4)
  const base = { runId: lease.runId, agent: 'default', createdAt: now() }
  const completion = { ...base, role: 'assistant', model: 'openai/some-model-name', usage } as const
  const calls = [`call_${textOf(20, turn)}1`, `call_${textOf(20, turn)}2`]
  const command = JSON.stringify({ path: `src/module-${turn}/index.ts`, limit: 100 })
  await log.appendRound(lease, {
    assistant: {
      ...completion,
      id,
      round: 0,
      finishReason: 'tool-calls',
      parts: calls.map((call) => ({ type: 'tool_call', id: call })),
      toolCalls: calls.map((call) => ({ id: call, name: 'read_file', arguments: command })),
    },
    tools: calls.map((call, sequence) => ({
      ...base,
      id: sequence === 0 ? first : second,
      role: 'tool',
      round: 0,
      assistantMessageId: id,
      toolCallId: call,
      toolName: 'read_file',
      call: `read_file(path="src/module-${turn}/index.ts", limit=100)`,
      sequence,
      status: 'running',
      parts: [],
      generation: lease.generation,
    })),
  })
  for (const [at, messageId] of [first, second].entries()) {
    const text = textOf(2_000, turn * 2 + at)
    const output = { bytes: 2_000, lines: 20, sha256: '0123456789abcdef'.repeat(4), mediaType: 'text/plain' }
    const result = {
      messageId,
      parts: [{ type: 'text', text }],
      output,
      completedAt: now(),
      durationMs: 1_234,
    } as const
    await log.completeCall(lease, { ...result, status: 'completed' })
  }
  const parts = [{ type: 'text', text: textOf(500, turn) }] as const
  const message = { ...completion, id: last, round: 1, finishReason: 'stop', parts, toolCalls: [] }
  await log.endRun(lease, { outcome: 'completed', stopReason: 'answer', message })
}

test('200 turns of 5 KB need less than 2 MB in the log tables', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'tooltrail-size-'))
  const { tables, writeMs } = await storeTurns(join(folder, 'log.sqlite'))
  await rm(folder, { recursive: true })
  const total = tables.reduce((sum, { bytes }) => sum + bytes, 0)
  console.log(
    `${TURNS} turns: ${total.toLocaleString('en')} bytes in log tables (${(writeMs / TURNS).toFixed(1)} ms a turn):`,
    tables.map(({ name, bytes }) => `${name} ${bytes.toLocaleString('en')}`).join(', '),
  )
  expect(total).toBeLessThan(2_000_000)
})
