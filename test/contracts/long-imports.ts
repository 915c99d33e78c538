import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { appendClosed } from '../../functions/agent/imports/append-closed.ts'
import type { ClosedAssistantMessage, ClosedMessage } from '../../functions/domain/messages/closed-message.ts'
import { textOf, type Message } from '../../functions/domain/messages/message.ts'
import type { LogImport } from '../../functions/ports/log-import.ts'
import { replay } from '../../functions/log/replay.ts'
import { createMemoryOutputs } from '../../audit/simulator/world/outputs.ts'
import { endAfter, openFixture, startRun } from './session-fixture.ts'
import type { SessionFixture } from './session-fixture.ts'
import { allMessages } from './snapshot.ts'
import type { Engine, Stores } from './stores.ts'

const text = (one: string) => ({ parts: [{ type: 'text', text: one }] }) as const
/** Builds a round. Its call ids are unique only within the round. `bytes` is the approximate size of each result. */
function round(count: number, name: string, bytes: number): ClosedMessage[] {
  const toolCalls = Array.from({ length: count }, (_, n) => ({
    id: `call_${n}`,
    name: 'look',
    arguments: `{"n":${n}}`,
  }))
  const of: ClosedAssistantMessage = { role: 'assistant', ...text(name), toolCalls }
  const padding = '·'.repeat(bytes / 2)
  return [
    of,
    ...toolCalls.map((_, sequence): ClosedMessage => {
      const said = text(`${name} ${sequence}.${padding}`)
      return { role: 'tool', of, sequence, status: 'completed', ...said, mediaType: 'text/plain; charset=utf-8' }
    }),
  ]
}
const turn = (count: number, bytes: number): ClosedMessage[] => [
  { role: 'user', ...text('go') },
  ...round(2, 'first', 10),
  ...round(count, 'long', bytes),
  ...round(2, 'last', 10),
  { role: 'assistant', ...text('done'), toolCalls: [] },
]

/** Contract for imports with long or large rounds, interrupted by an input and its run. */
export function longImportsContract(engine: Engine): void {
  describe(`long rounds of imports on ${engine.name}`, () => {
    let stores: Stores
    beforeAll(async () => void (stores = await engine.open()))
    afterAll(() => stores.close())

    interface Played {
      readonly messages: readonly Message[]
      readonly writes: number
      /** Messages sent to the model in the middle of the import. */
      readonly sent: readonly object[] | undefined
    }

    /** Imports a turn twice under one name. Before write number `at` of the first import, a run starts. */
    async function play(source: readonly ClosedMessage[], at: number): Promise<Played> {
      const fixture = await openFixture(stores)
      const { key, reader, lease, clock, imports } = fixture
      let [writes, sent]: [number, readonly object[] | undefined] = [0, undefined]
      const between: LogImport = {
        progress: (...all) => imports.progress(...all),
        async append(seen, step) {
          if (++writes === at) sent = await runBetween(fixture)
          return imports.append(seen, step)
        },
      }
      const dependencies = { imports: between, lease, reader, clock, outputs: createMemoryOutputs(), agents: new Map() }
      const session = await fixture.sessions.read(key)
      if (session === undefined) throw new Error('no session')
      const name = { keyHash: 'k', bodyHash: 'b', forGood: true }
      expect(await appendClosed(dependencies, session, source, { name })).toMatchObject({ messages: source.length })
      const count = writes
      expect(await appendClosed(dependencies, session, source, { name })).toMatchObject({ messages: 0 })
      return { messages: await allMessages(reader, key), writes: count, sent }
    }

    async function runBetween(fixture: SessionFixture): Promise<readonly object[]> {
      const { lease, run } = await startRun({ ...fixture, ...fixture.peer })
      const sent = replay(await allMessages(fixture.reader, fixture.key), { currentRun: run.id, replay: 'full' })
      await fixture.peer.log.endRun(lease, endAfter(fixture, lease, lease.head))
      return sent
    }

    test.each([
      ['200 calls', 200, 10],
      ['70 calls of 40 KB', 70, 40_000],
    ])(
      '%s: a run between two steps loses, repeats or reorders no results, and later requests extend its request',
      async (_, count, bytes) => {
        const source = turn(count, bytes)
        const whole = await play(source, 0)
        expect(whole.messages).toHaveLength(source.length)
        for (let at = 2; at <= whole.writes; at++) {
          const { messages, sent } = await play(source, at)
          const ids = messages.map(({ id }) => id)
          expect(ids).toEqual([...new Set(ids)].toSorted())
          expect(results(messages)).toEqual(results(whole.messages))
          const later = replay(messages, { currentRun: 'later', replay: 'full' })
          expect(later.slice(0, sent?.length)).toEqual(sent)
          expectValid(later)
        }
      },
      120_000,
    )
  })
}

const results = (messages: readonly Message[]): string[] =>
  messages.flatMap((one) => (one.role === 'tool' ? [textOf(one.parts).split('.')[0] ?? ''] : []))

/** Expects that each completion is followed by one result for each of its calls, in the order of the calls. */
function expectValid(request: ReturnType<typeof replay>): void {
  const waiting: string[] = []
  for (const message of request) {
    if (message.role === 'tool') expect(message.toolCallId).toBe(waiting.shift())
    else expect(waiting).toEqual([])
    if (message.role === 'assistant')
      for (const part of message.parts) if (part.type === 'tool_call') waiting.push(part.id)
  }
  expect(waiting).toEqual([])
}
