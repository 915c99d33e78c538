import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createDynamoSessionDeletion } from '../../functions/adapters/dynamodb/log/session-deletion.ts'
import type { HistoryPage } from '../../functions/domain/history.ts'
import { withEngines } from '../engines/with-engines.ts'
import { writeCorpus, type WrittenCorpus } from './index-corpus.ts'
import { indexStage, type IndexStage } from './index-stage.ts'
import { until } from '../eventually.ts'

withEngines(['dynamodb', 'opensearch'], (endpoints) => {
  describe('rebuilding the index while it is used', () => {
    let stage: IndexStage
    let before: WrittenCorpus
    beforeAll(async () => {
      stage = await indexStage(endpoints)
      before = await writeCorpus(stage.table, 200)
    })
    afterAll(() => stage.stop())

    const search = (text: string): Promise<HistoryPage> =>
      stage.index.search({ scope: { tenant: 'acme' }, text, filters: {}, limit: 5 })
    const indexes = async (): Promise<string[]> =>
      Object.keys((await stage.direct.indices.getAlias({ name: stage.alias })).body)

    test('no search fails or is empty meanwhile, and nothing written or deleted meanwhile is missed', async () => {
      const poller = stage.poll(stage.indexer)
      await until(async () => (await stage.contents()).size > 200, 500)
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
          await writeCorpus(stage.table, 20, 10_000 + round * 1_000)
          await pause(100)
          if (round === 0 && doomed !== undefined) {
            const deletion = createDynamoSessionDeletion(stage.table)
            await deletion.tombstone(doomed)
            await deletion.removeRows(doomed, 1_000)
          }
        }
      })()
      await stage.rebuild()
      rebuilt = true
      await Promise.all([searching, writing])
      expect(searches.length).toBeGreaterThan(5)
      expect(searches.every((hits) => hits > 0)).toBe(true)
      expect(await indexes()).not.toEqual([first])
      expect(await indexes()).toHaveLength(1)

      await poller.caughtUp()
      const live = await stage.contents()
      await poller.stop()
      await stage.rebuild()
      expect(live).toEqual(await stage.contents())
      expect(JSON.stringify([...live.values()])).not.toContain(`"${before.sessions[0]?.session}"`)
    })

    test('a rebuild that fails leaves the index that is searched as it was', async () => {
      const [current] = await indexes()
      const contents = await stage.contents()
      stage.proxy.decide(({ path, body }) =>
        path === '/_bulk' && !body.includes(`"_index":"${current}"`) && !body.includes('probe')
          ? { status: 503 }
          : 'pass',
      )
      await expect(stage.rebuild()).rejects.toMatchObject({ code: 'search_unavailable' })
      stage.proxy.decide(() => 'pass')
      expect(await indexes()).toEqual([current])
      expect(await stage.contents()).toEqual(contents)
    })

    test('what a crashed rebuild left behind is removed by the next', async () => {
      await stage.direct.indices.create({ index: `${stage.alias}-v1-crashed` })
      await stage.direct.indices.putAlias({ index: `${stage.alias}-v1-crashed`, name: `${stage.alias}-write` })
      await stage.rebuild()
      const { body } = await stage.direct.indices.get({ index: `${stage.alias}-v*` })
      expect(Object.keys(body)).toEqual(await indexes())
    })
  })
})
