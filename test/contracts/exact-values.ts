import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { JsonObject } from '../../functions/domain/json.ts'
import { readJson } from '../../functions/log/json/exact-json.ts'
import { jsonText } from '../generators/json-text.ts'
import { fc } from '../generators/seeded.ts'
import { callOf, openFixture, resultOf, roundAfter, startRun } from './session-fixture.ts'
import type { Engine, Stores } from './stores.ts'

/** Values from outside with numbers of any spelling. */
const EXACT = `{"id":9007199254740993,"total":10.00,"values":[${fc.sample(jsonText, { numRuns: 20, seed: 9 }).join(',')}]}`
const value = readJson(EXACT) as JsonObject
const written = JSON.stringify(value)

/** Contract: values from outside keep the spelling of their numbers, and a repeated write of them is detected. */
export function exactValuesContract(engine: Engine): void {
  describe(`values from outside, on ${engine.name}`, () => {
    let stores: Stores
    beforeAll(async () => void (stores = await engine.open()))
    afterAll(() => stores.close())

    test(`field/19/stored-values · ${engine.name}: rows keep the numbers of data, metadata and schemas`, async () => {
      const fixture = await openFixture(stores, { metadata: value })
      const { key, log, peer } = fixture
      const clientTools = [{ name: 'ask', description: '', parameters: value }]
      const input = { parts: [{ type: 'text', text: 'hello' }], metadata: value } as const
      const { lease } = await startRun(fixture, { clientTools, input })
      const round = roundAfter(fixture, lease, lease.head, [{ name: 'ask', arguments: EXACT }])
      for (let attempt = 0; attempt < 2; attempt++) await log.appendRound(lease, round)
      const plain = resultOf(fixture, callOf(round, 0).id)
      const result = { ...plain, parts: [...plain.parts, { type: 'data', data: value } as const] }
      const ended = await log.completeCall(lease, result)
      expect(await log.completeCall(lease, result)).toEqual(ended)

      const session = await peer.sessions.read(key)
      expect(JSON.stringify(session?.metadata)).toBe(written)
      const run = await peer.reader.run(key, lease.runId)
      expect(JSON.stringify(run?.clientTools[0]?.parameters)).toBe(written)
      const { messages } = await peer.reader.messages(key, { order: 'ascending', limit: 10 })
      const [user, assistant, tool] = messages
      expect(JSON.stringify(user?.role === 'user' && user.metadata)).toBe(written)
      expect(assistant?.role === 'assistant' && assistant.toolCalls[0]?.arguments).toBe(EXACT)
      expect(JSON.stringify(tool?.parts.find(({ type }) => type === 'data'))).toBe(`{"type":"data","data":${written}}`)
      expect(tool).toEqual(ended)
    })
  })
}
