import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { appendClosed } from '../../functions/agent/imports/append-closed.ts'
import { copyLog } from '../../functions/agent/imports/copy-log.ts'
import { PLAIN_TEXT } from '../../functions/domain/messages/closed-message.ts'
import type {
  ClosedAssistantMessage,
  ClosedMessage,
  MemberCall,
} from '../../functions/domain/messages/closed-message.ts'
import { nextIds } from '../../functions/domain/ids.ts'
import type { ImportStep } from '../../functions/domain/messages/imported.ts'
import type { Message } from '../../functions/domain/messages/message.ts'
import type { SessionKey } from '../../functions/domain/session.ts'
import { highestOf } from '../../functions/log/sources.ts'
import type { LogImport } from '../../functions/ports/log-import.ts'
import type { LogReader } from '../../functions/ports/log-reader.ts'
import { createMemoryOutputs } from '../../audit/simulator/world/outputs.ts'
import { header, openFixture, roundAfter, startRun } from './session-fixture.ts'
import type { SessionFixture } from './session-fixture.ts'
import { allMessages } from './snapshot.ts'
import type { Engine, Stores } from './stores.ts'
import { isWhole } from '../whole.ts'

const text = (one: string) => ({ parts: [{ type: 'text', text: one }] }) as const

/** Builds a round of one call, whose id is the same in all rounds. Its result has two sources. */
function look(title: string): { readonly call: MemberCall; readonly messages: readonly ClosedMessage[] } {
  const of: ClosedAssistantMessage = {
    ...{ role: 'assistant', parts: [] },
    toolCalls: [{ id: 'call', name: 'look', arguments: '{}' }],
  }
  const call = { toolCallId: 'call', sequence: 0, sources: 2 }
  const sources = [{ title: `${title} a` }, { title: `${title} b` }]
  const result = {
    role: 'tool',
    of,
    sequence: 0,
    named: call,
    status: 'completed',
    ...text(title),
    sources,
    mediaType: PLAIN_TEXT,
  } as const
  return { call, messages: [of, result] }
}

/**
 * Builds a log of turns. Every third turn ends with a completion that numbers the results of the last three turns, the
 * newest result first.
 */
function log(turns: number): { readonly messages: ClosedMessage[]; readonly titles: string[] } {
  const [messages, titles]: [ClosedMessage[], string[]] = [[], []]
  let results: MemberCall[] = []
  for (let turn = 0; turn < turns; turn++) {
    const { call, messages: round } = look(String(turn))
    results = [call, ...results]
    messages.push({ role: 'user', ...text('go') }, ...round)
    if (turn % 3 < 2) continue
    const numbered = { from: 1 + 2 * (turn - 2), results }
    messages.push({ role: 'assistant', ...text('told'), toolCalls: [], numbered })
    for (const one of [turn, turn - 1, turn - 2]) titles.push(`${one} a`, `${one} b`)
    results = []
  }
  return { messages, titles }
}

/** Returns the numbers and titles of a session's sources. */
async function titlesOf(reader: LogReader, key: SessionKey): Promise<(string | undefined)[]> {
  const { numbered } = await reader.sources(key, { order: 'ascending', limit: 1000 })
  const messages = new Map((await allMessages(reader, key)).map((one) => [one.id, one]))
  return numbered.flatMap(({ message, from, count }) => {
    const found = messages.get(message)
    const sources = found?.role === 'tool' ? found.sources : undefined
    return Array.from({ length: count }, (_, place) => `${from + place} ${sources?.[place]?.title}`)
  })
}

const numberedFrom = (first: number, titles: readonly string[]): string[] =>
  titles.map((title, place) => `${first + place} ${title}`)

const SIDES = ['before', 'after'] as const

/** Contract for source numbers in imported and forked logs. */
export function keptNumbersContract(engine: Engine): void {
  describe(`kept numbers of sources on ${engine.name}`, () => {
    let stores: Stores
    beforeAll(async () => void (stores = await engine.open()))
    afterAll(() => stores.close())

    test('equal the original numbers, wherever an import or a copy stops, and new numbers follow the highest number', async () => {
      const { messages, titles } = log(60)
      const kept = numberedFrom(1, titles)
      const whole = await openFixture(stores)
      const { steps } = await importInto(whole, messages)
      expect(await titlesOf(whole.peer.reader, whole.key)).toEqual(kept)
      expect(steps.length).toBeGreaterThan(3)
      const [stride, sides] = engine.isSlow && !isWhole ? [3, SIDES.slice(1)] : [1, SIDES]
      for (let at = 1; at <= steps.length; at += stride)
        for (const when of sides) {
          for (const from of [undefined, whole]) {
            const fixture = await openFixture(stores, { tenant: whole.key.tenant })
            await expect(importInto(fixture, messages, { at, when, from })).rejects.toThrow('cut off')
            await importInto(fixture, messages, { from })
            expect(await titlesOf(fixture.peer.reader, fixture.key), `${at} ${when}`).toEqual(kept)
            await numberNext(fixture)
            expect(await titlesOf(fixture.reader, fixture.key)).toEqual([...kept, `${titles.length + 1} undefined`])
          }
        }
    })

    test('are dropped if the session already uses them; all other sources keep their numbers', async () => {
      const { messages, titles } = log(12)
      const fixture = await openFixture(stores)
      const { messages: first, titles: own } = log(3)
      for (const one of [first, messages]) await importInto(fixture, one)
      expect(await titlesOf(fixture.reader, fixture.key)).toEqual([
        ...numberedFrom(1, own),
        ...numberedFrom(own.length + 1, titles.slice(own.length)),
      ])
    })

    test('are stored even in a step with the maximum number of rows', async () => {
      const fixture = await openFixture(stores, { ttlDays: 1 })
      const { key, reader, imports } = fixture
      const { steps } = await importInto(fixture, [{ role: 'user', ...text('go') }])
      const [one] = steps
      const [message] = one?.messages ?? []
      if (one === undefined || message === undefined) throw new Error('nothing was imported')
      const ids = nextIds(message.id, fixture.clock.now(), 47)
      const messages = ids.map((id, n): Message => {
        const numbered = [{ message: message.id, from: 1 + n, count: 1 }]
        return { ...message, id, role: 'assistant', ...text('told'), toolCalls: [], numbered }
      })
      const runs = one.runs.map(({ run }) => ({ run, isNew: false }))
      const name = { keyHash: 'other', bodyHash: 'b', forGood: false }
      expect(await imports.append(await header(fixture), { messages, runs, name })).toMatchObject({ messages: 47 })
      const { numbered } = await reader.sources(key, { order: 'descending', limit: 1 })
      expect(numbered).toEqual([{ message: message.id, from: 47, count: 1 }])
    })
  })
}

/** Imports a log into this session, or forks another session's log. One write of the import or fork may fail. */
async function importInto(
  fixture: SessionFixture,
  messages: readonly ClosedMessage[],
  {
    at,
    when,
    from,
  }: { readonly at?: number; readonly when?: 'before' | 'after'; readonly from?: SessionFixture | undefined } = {},
): Promise<{ readonly steps: readonly ImportStep[] }> {
  const { key, lease, reader, clock } = fixture
  const steps: ImportStep[] = []
  const imports: LogImport = {
    progress: (...all) => fixture.imports.progress(...all),
    async append(seen, step) {
      const breaks = steps.push(step) === at
      if (breaks && when === 'before') throw new Error('cut off')
      const after = await fixture.imports.append(seen, step)
      if (breaks) throw new Error('cut off')
      return after
    },
  }
  const dependencies = { imports, lease, reader, clock, outputs: createMemoryOutputs(), agents: new Map() }
  const session = await fixture.sessions.read(key)
  if (session === undefined) throw new Error('no session')
  const name = { keyHash: `of ${messages.length}`, bodyHash: 'b', forGood: true }
  if (from === undefined) await appendClosed(dependencies, session, messages, { name })
  else
    await copyLog(
      { ...dependencies, logger: { warn: () => undefined } },
      from.key,
      (await header(from)).head ?? '',
      session,
    )
  return { steps }
}

/** Stores a completion that assigns the next number, like the loop. */
async function numberNext(fixture: SessionFixture): Promise<void> {
  const { lease } = await startRun(fixture)
  const { numbered } = await fixture.reader.sources(fixture.key, { order: 'descending', limit: 1 })
  const round = roundAfter(fixture, lease, lease.head, [{ name: 'look' }])
  const next = [{ message: 'next', from: highestOf(numbered) + 1, count: 1 }]
  await fixture.log.appendRound(lease, { ...round, assistant: { ...round.assistant, numbered: next } })
}
