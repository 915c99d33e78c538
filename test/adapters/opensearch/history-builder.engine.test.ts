/* Evidence, search: No write creates an OpenSearch index, even after a clock was set back. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { createOpenSearchHistoryBuilder } from '../../../functions/adapters/opensearch/history-builder.ts'
import { ownAlias } from '../../../functions/adapters/opensearch/history-aliases.ts'
import { createOpenSearchHistoryWriter } from '../../../functions/adapters/opensearch/history-writer.ts'
import { createSystemClock } from '../../../functions/adapters/memory/system-clock.ts'
import { INDEX_VERSION, MAPPING } from '../../../functions/adapters/opensearch/indexed-document.ts'
import type { HistoryDocument } from '../../../functions/domain/history.ts'
import { nextIds } from '../../../functions/domain/ids.ts'
import { withEngines } from '../../engines/with-engines.ts'
import { changesOf, openSearchHarness, type OpenSearchHarness } from './harness.ts'

/**
 * Factor by which the clock is faster than real time. The factor shortens the builders' waits, which last several
 * seconds.
 */
const SPEED = 20
const [messageId = ''] = nextIds(undefined, 1_750_000_000_000, 1)
const KEY = { tenant: 'acme', session: 's-1' }
const document: HistoryDocument = {
  ...{ ...KEY, runId: 'run-1', messageId, part: 'u', role: 'user', agent: 'default' },
  text: 'some words',
  time: 1_750_000_000_000,
}

withEngines(['opensearch'], ({ opensearch }) => {
  describe('the indexes of a history', () => {
    let harness: OpenSearchHarness
    beforeEach(() => void (harness = openSearchHarness(opensearch)))
    afterEach(() => harness.close())

    const search = async (): Promise<string[]> => {
      await harness.refresh()
      const { hits } = await harness.index.search({ scope: { tenant: 'acme' }, text: 'words', filters: {}, limit: 5 })
      return hits.map((hit) => hit.messageId)
    }
    const behind = async (name: string): Promise<string[]> =>
      Object.keys((await harness.client.indices.getAlias({ name })).body)
    const all = async (): Promise<string[]> =>
      Object.keys((await harness.client.indices.get({ index: `${harness.alias}-v*` })).body)
    const rebuild = async (): Promise<void> => {
      const clock = {
        now: () => Date.now() * SPEED,
        sleep: (ms: number) => new Promise<void>((done) => setTimeout(done, ms / SPEED)),
      }
      const builder = createOpenSearchHistoryBuilder({ ...harness, clock, indexDeadLetters: { send: async () => {} } })
      const build = await builder.begin()
      await build.write(changesOf([document]))
      await build.publish()
    }

    test('the first write creates an index of this version with the mapping and both aliases', async () => {
      await harness.writer.write(changesOf([document]))
      expect(await search()).toEqual([messageId])
      const first = [`${harness.alias}-v${INDEX_VERSION}-first`]
      expect(await behind(harness.alias)).toEqual(first)
      expect(await behind(`${harness.alias}-write`)).toEqual(first)
      const { body } = await harness.client.indices.getMapping({ index: harness.alias })
      const { properties } = Object.values(body)[0]?.mappings ?? {}
      expect(Object.keys(properties ?? {})).toEqual(Object.keys(MAPPING.properties).toSorted())
    })

    test.each([
      ['stores', changesOf([document])],
      ['removes', [{ key: KEY, messageId, revision: 2, documents: [], removed: ['u'] }]],
    ])('a write that %s fails if its index was dropped, and creates no index', async (_, changes) => {
      await harness.writer.write(changesOf([document]))
      const dropped = `${harness.alias}-v${INDEX_VERSION}-first`
      await harness.client.indices.delete({ index: dropped })
      const [outcome] = await harness.writer.write(changes)
      expect(outcome).toMatchObject({ done: false, error: expect.stringContaining('404') })
      expect(await all()).toEqual([])
      expect((await harness.client.indices.get({ index: `${harness.alias}*` })).body).toEqual({})
      // The next write reads the aliases again.
      expect(await harness.writer.write(changesOf([document], 3))).toEqual([{ done: true }])
      expect(await all()).toEqual([dropped])
      expect(await search()).toEqual([messageId])
    })

    test('an index of an earlier version, without an alias of its own, accepts writes', async () => {
      await harness.writer.write(changesOf([document]))
      const first = `${harness.alias}-v${INDEX_VERSION}-first`
      await harness.client.indices.deleteAlias({ index: first, name: ownAlias(first) })
      const indexDeadLetters = { send: async () => {} }
      const clock = createSystemClock()
      const writer = createOpenSearchHistoryWriter({ ...harness, clock, indexDeadLetters })
      expect(await writer.write(changesOf([{ ...document, text: 'other words' }], 2))).toEqual([{ done: true }])
      expect(await behind(ownAlias(first))).toEqual([first])
      expect(await all()).toEqual([first])
    })

    test('an index that a crashed process created without its aliases is used', async () => {
      await harness.client.indices.create({
        index: `${harness.alias}-v${INDEX_VERSION}-first`,
        body: { mappings: MAPPING as object },
      })
      await harness.writer.write(changesOf([document]))
      expect(await search()).toEqual([messageId])
    })

    test('an index with an older mapping is searched and written until a rebuild replaces it', async () => {
      const index = `${harness.alias}-v0-old`
      const { tenant, ...rest } = MAPPING.properties
      const older = { ...MAPPING, properties: { ...rest, tenant: { ...tenant, ignore_above: 100 } } }
      const aliases = { [harness.alias]: {}, [`${harness.alias}-write`]: {} }
      await harness.client.indices.create({ index, body: { mappings: older as object, aliases } })
      await harness.writer.write(changesOf([document]))
      expect(await search()).toEqual([messageId])
      expect(await behind(harness.alias)).toEqual([index])
      await rebuild()
      const now = await behind(harness.alias)
      expect(now).toEqual([expect.stringMatching(`^${harness.alias}-v${INDEX_VERSION}-\\d+$`)])
      expect(await behind(`${harness.alias}-write`)).toEqual(now)
      expect(await all()).toEqual(now)
      expect(await search()).toEqual([messageId])
      const { body } = await harness.client.indices.getMapping({ index: harness.alias })
      expect(Object.values(body)[0]?.mappings?.properties).toMatchObject({
        tenant: { ignore_above: tenant.ignore_above },
      })
    })

    test('indexes of crashed rebuilds, with or without an alias, are removed by the next rebuild', async () => {
      await search()
      await harness.client.indices.create({ index: `${harness.alias}-v${INDEX_VERSION}-111` })
      const half = { [`${harness.alias}-write`]: {} }
      await harness.client.indices.create({ index: `${harness.alias}-v${INDEX_VERSION}-222`, body: { aliases: half } })
      await rebuild()
      expect(await all()).toEqual(await behind(harness.alias))
      expect(await behind(`${harness.alias}-write`)).toEqual(await behind(harness.alias))
      expect(await search()).toEqual([messageId])
    })
  })
})
