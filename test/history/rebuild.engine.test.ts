/* Evidence, search: No search fails during a rebuild. */
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createDynamoSessionDeletion } from '../../functions/adapters/dynamodb/log/sessions/deletion/session-deletion.ts'
import type { HistoryPage } from '../../functions/domain/history.ts'
import { withEngines } from '../engines/with-engines.ts'
import { writeCorpus, type WrittenCorpus } from './index-corpus.ts'
import { openIndexHarness, type IndexHarness } from './index-harness.ts'
import { until } from '../eventually.ts'

withEngines(['dynamodb', 'opensearch'], (endpoints) => {
  describe('a rebuild of the index during use', () => {
    let harness: IndexHarness
    let before: WrittenCorpus
    beforeAll(async () => {
      harness = await openIndexHarness(endpoints)
      before = await writeCorpus(harness.table, 200)
    })
    afterAll(() => harness.stop())

    const search = (text: string): Promise<HistoryPage> =>
      harness.index.search({ scope: { tenant: 'acme' }, text, filters: {}, limit: 5 })
    const indexes = async (): Promise<string[]> =>
      Object.keys((await harness.direct.indices.getAlias({ name: harness.alias })).body)

    test('lets every search succeed, and includes concurrent writes and deletions', async () => {
      const poller = harness.poll(harness.indexer)
      await until(async () => (await harness.contents()).size > 200, 500)
      const [first] = await indexes()
      let rebuilt = false
      const searches: number[] = []
      const searching = (async () => {
        while (!rebuilt) {
          const { hits } = await search('speaks')
          searches.push(hits.length)
          await pause(20)
        }
      })()
      const writing = (async () => {
        const [doomed] = before.sessions
        for (let round = 0; !rebuilt; round++) {
          await writeCorpus(harness.table, 20, 10_000 + round * 1_000)
          await pause(100)
          if (round === 0 && doomed !== undefined) {
            const deletion = createDynamoSessionDeletion(harness.table)
            await deletion.tombstone(doomed)
            await deletion.removeRows(doomed, 1_000)
          }
        }
      })()
      await harness.rebuild()
      rebuilt = true
      await Promise.all([searching, writing])
      expect(searches.length).toBeGreaterThan(5)
      expect(searches.every((hits) => hits > 0)).toBe(true)
      expect(await indexes()).not.toEqual([first])
      expect(await indexes()).toHaveLength(1)

      await poller.caughtUp()
      const live = await harness.contents()
      await poller.stop()
      await harness.rebuild()
      expect(live).toEqual(await harness.contents())
      expect(JSON.stringify([...live.values()])).not.toContain(`"${before.sessions[0]?.session}"`)
    })

    test('leaves the active index unchanged if the rebuild fails', async () => {
      const [current] = await indexes()
      const contents = await harness.contents()
      harness.proxy.decide(({ path, body }) =>
        path === '/_bulk' && !body.includes(`"_index":"${current}"`) && !body.includes('probe')
          ? { status: 503 }
          : 'pass',
      )
      await expect(harness.rebuild()).rejects.toMatchObject({ code: 'search_unavailable' })
      harness.proxy.decide(() => 'pass')
      expect(await indexes()).toEqual([current])
      expect(await harness.contents()).toEqual(contents)
    })

    test('removes the indexes of a crashed rebuild', async () => {
      await harness.direct.indices.create({ index: `${harness.alias}-v1-crashed` })
      await harness.direct.indices.putAlias({ index: `${harness.alias}-v1-crashed`, name: `${harness.alias}-write` })
      await harness.rebuild()
      const { body } = await harness.direct.indices.get({ index: `${harness.alias}-v*` })
      expect(Object.keys(body)).toEqual(await indexes())
    })
  })
})
