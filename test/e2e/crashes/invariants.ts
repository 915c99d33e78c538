import { readFileSync } from 'node:fs'
import { expect } from 'vitest'
import type { OpenAiMessage } from '../../../functions/log/formats/openai-format.ts'
import type { Client, Message, RunBody, SearchHit } from '../backend/client.ts'
import { eventually } from '../../eventually.ts'
import { onceFound, type Backend, type Place } from '../backend/backend.ts'
import { lasting, type Knowledge } from './parts/durable-client.ts'
import { DELEGATE } from './parts/scripted-model.ts'

const ONCE = new Set(['record', 'guarded', 'slow', 'tardy', 'endless'])

/** A session's place, and the file in which its tools recorded their executions. */
interface Harness {
  readonly backend: Backend
  readonly place: Place
  readonly effects: string
}

/** Checks the invariants of a session whose runs have ended, whatever faults happened before. */
export async function expectWhole(client: Client, knows: Knowledge, harness: Harness): Promise<void> {
  const { session } = knows
  const messages = await client.messages(session)
  const runs = await client.all<RunBody>(`/v1/sessions/${session}/runs?limit=100`)
  const details = await client.get<{ run: RunBody | null; summary?: Summary }>(`/v1/sessions/${session}`)
  expect(['completed', 'failed', 'cancelled'], `${session}: its latest run`).toContain(details.run?.status)
  for (const run of runs) {
    const isEnded =
      ['completed', 'cancelled'].includes(run.status) ||
      run.error?.code === 'crashed_repeatedly' ||
      (run.status === 'failed' && knows.failed.has(run.id))
    expect(isEnded, `${session}: run ${JSON.stringify(run)}`).toBe(true)
    if (knows.stopped.has(run.id)) expect(run.status, `${session}: run ${run.id} was told to stop`).toBe('cancelled')
  }
  const givenUp = new Set(runs.filter((run) => run.error?.code === 'crashed_repeatedly').map((run) => run.id))
  expectAcknowledged(knows, messages, givenUp)
  expectReplayable(session, messages, await client.chat(session))
  const completed = new Set(runs.filter((run) => run.status === 'completed').map((run) => run.id))
  expectEffects(messages, { session, completed, file: harness.effects })
  const isWhole = runs.every((run) => completed.has(run.id))
  expectSummary(session, details.summary, messages, isWhole)
  await expectSources(client, session, messages, isWhole)
  await onceFound(harness.backend, () => expectFound(client, session, messages))
}

/**
 * Checks that the log contains all events shown to clients, unchanged, and each input once. Approved calls were executed unless
 * their run was given up before.
 */
function expectAcknowledged(knows: Knowledge, messages: readonly Message[], givenUp: ReadonlySet<string>): void {
  const { session } = knows
  const byId = new Map(messages.map((message) => [message.id, message]))
  for (const { id, type, data } of knows.events.values()) {
    if (data.message === undefined || type === 'tool_call.started') continue
    expect(lasting(byId.get(data.message.id)), `${session}: what event ${id} told`).toStrictEqual(lasting(data.message))
  }
  for (const [key, text] of knows.inputs) {
    const found = messages.filter((message) => message.role === 'user' && textOf(message) === text)
    expect(found.length, `${session}: input ${key} in the log`).toBe(knows.repeated.has(text) ? 2 : 1)
  }
  for (const [call, resolution] of knows.resolutions) {
    const row = messages.find((message) => message.role === 'tool' && message.tool_call_id === call)
    if (typeof resolution === 'string') expect(row && textOf(row), `${session}: resolution of ${call}`).toBe(resolution)
    else {
      const ends = resolution ? ['completed', 'interrupted'] : ['denied']
      if (givenUp.has(row?.run_id ?? '')) ends.push('cancelled')
      expect(ends, `${session}: call ${call}, ${resolution ? 'approved' : 'denied'}`).toContain(row?.status)
    }
  }
}

/** Checks that ids and rounds increase, that each call has one final result, and that the log gives a valid request. */
export function expectReplayable(session: string, messages: readonly Message[], chat: readonly OpenAiMessage[]): void {
  const rounds = new Map<string, number>()
  for (const [index, message] of messages.entries()) {
    const before = messages[index - 1]
    if (before !== undefined) expect(message.id > before.id, `${session}: ids rise`).toBe(true)
    if (message.role !== 'assistant') continue
    const thread = `${message.run_id} ${message.parent_message_id ?? ''}`
    expect(message.round, `${session}: rounds count up`).toBe(rounds.get(thread) ?? 0)
    rounds.set(thread, message.round + 1)
    const rows = messages.filter((row) => row.assistant_message_id === message.id)
    const calls = (message.tool_calls ?? []).map((call) => call.id)
    expect(
      rows.map((row) => row.tool_call_id),
      `${session}: one result for each call`,
    ).toStrictEqual(calls)
    for (const row of rows)
      expect(['running', 'waiting'], `${session}: call ${row.tool_call_id} has ended`).not.toContain(row.status)
  }
  for (const [index, message] of chat.entries()) {
    if (message.role !== 'assistant' || message.tool_calls === undefined) continue
    const results = chat.slice(index + 1, index + 1 + message.tool_calls.length)
    const ids = results.map((result) => (result.role === 'tool' ? result.tool_call_id : result.role))
    expect(ids, `${session}: results follow their calls`).toStrictEqual(message.tool_calls.map((call) => call.id))
  }
}

/** The file with the effects of a session's tools, and the session's completed runs. */
interface Effects {
  readonly session: string
  readonly completed: ReadonlySet<string>
  readonly file: string
}

/**
 * Checks executions. Calls without idempotency ran at most once, denied calls did not run, and completed calls ran. If the run
 * has completed, none of its idempotent calls is left interrupted.
 */
function expectEffects(messages: readonly Message[], { session, completed, file }: Effects): void {
  const times = new Map<string, number>()
  for (const line of readFileSync(file, 'utf8').split('\n')) {
    const [tool, of, , call] = line.split('\t')
    if (of === session) times.set(`${tool} ${call}`, (times.get(`${tool} ${call}`) ?? 0) + 1)
  }
  for (const row of messages) {
    // Imported calls were executed elsewhere.
    if (row.role !== 'tool' || row.tool_name === 'client' || row.recorded_at !== undefined) continue
    if (row.tool_name === DELEGATE) {
      if (completed.has(row.run_id)) expect(row.status, `${session}: what a member did`).toBe('completed')
      continue
    }
    const name = `${row.tool_name} ${row.tool_call_id}`
    const executed = times.get(name) ?? 0
    if (ONCE.has(row.tool_name ?? '')) expect(executed, `${session}: executions of ${name}`).toBeLessThanOrEqual(1)
    else if (completed.has(row.run_id))
      expect(row.status, `${session}: ${name} may be executed again`).not.toBe('interrupted')
    if (row.status === 'denied') expect(executed, `${session}: executions of ${name}`).toBe(0)
    if (row.status === 'completed') expect(executed, `${session}: executions of ${name}`).toBeGreaterThan(0)
  }
}

async function expectFound(client: Client, session: string, messages: readonly Message[]): Promise<void> {
  // A search reports itself incomplete if the backlog takes longer than the search waits. With a hurried clock, this
  // wait is short. A broken connection is not retried: its program was killed.
  const broken = await eventually(async () => {
    let hits: readonly SearchHit[]
    try {
      hits = await client.all<SearchHit>(
        `/v1/search?limit=50&role=tool_result&session=${session}&q=${encodeURIComponent('result of')}`,
      )
    } catch (error) {
      if (error instanceof TypeError) return error
      throw error
    }
    const found = new Set(hits.map((hit) => hit.message_id))
    for (const message of messages)
      if (message.role === 'tool' && message.status === 'completed' && message.tool_name !== DELEGATE)
        expect(found.has(message.id), `${session}: the search finds ${message.call}`).toBe(true)
    return undefined
  })
  if (broken !== undefined) throw broken
}

interface Summary {
  readonly through: string
  readonly messages: number
}

/** Checks that a summary covers every earlier message of the conversation, and counts each once. */
function expectSummary(
  session: string,
  summary: Summary | undefined,
  messages: readonly Message[],
  isWhole: boolean,
): void {
  if (isWhole) expect(summary !== undefined, `${session}: has a summary`).toBe(session.startsWith('summary-'))
  if (summary === undefined) return
  const counted = messages.filter(
    ({ id, role, tool_calls: calls = [], parts }) =>
      id <= summary.through && role !== 'tool' && calls.length === 0 && parts.every(({ type }) => type !== 'error'),
  )
  expect(summary.messages, `${session}: messages of the summary`).toBe(counted.length)
}

/**
 * Checks that sources are numbered in log order, without gaps or repeats, and that only cited sources are marked as cited.
 * `isWhole`: whether every run has completed.
 */
async function expectSources(
  client: Client,
  session: string,
  messages: readonly Message[],
  isWhole: boolean,
): Promise<void> {
  interface Source {
    readonly number: number
    readonly title: string
    readonly cited: boolean | null
  }
  const listed = await client.all<Source>(`/v1/sessions/${session}/sources?limit=100`)
  const titles = messages.flatMap((row) =>
    row.tool_name === 'found' && row.status === 'completed'
      ? ['one', 'other'].map((which) => `${which} of ${textOf(row).slice('result of '.length)}`)
      : [],
  )
  expect(
    listed.map(({ number }) => number),
    `${session}: numbers of sources`,
  ).toStrictEqual(listed.map((_, place) => place + 1))
  // A run that was given up leaves its last results without numbers.
  if (isWhole)
    expect(listed, `${session}: sources`).toMatchObject(titles.map((title, place) => ({ title, cited: place === 0 })))
}

/** Checks the invariants of a deleted session. */
export async function expectGone(client: Client, knows: Knowledge, harness: Harness): Promise<void> {
  const { session } = knows
  expect((await client.send('GET', `/v1/sessions/${session}`)).status).toBe(404)
  await onceFound(harness.backend, async () => {
    const { data } = await client.get<{ data: SearchHit[] }>(`/v1/search?session=${session}&q=result`)
    expect(data, `${session}: nothing of it is found`).toStrictEqual([])
  })
  const objects = (await harness.place.objects()).join('\n')
  for (const { data: sent } of knows.events.values())
    if (sent.message !== undefined)
      expect(objects.includes(sent.message.id), `${session}: an object is left`).toBe(false)
}

export const textOf = (message: Message): string =>
  message.parts.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('\n')
