import { Client } from '@opensearch-project/opensearch'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { definedFields } from '../../../functions/domain/defined-fields.ts'
import type { HistoryDocument } from '../../../functions/domain/history.ts'
import { nextIds } from '../../../functions/domain/ids.ts'
import { withEngines } from '../../engines/with-engines.ts'
import { startProxy, type Proxy } from './proxy.ts'
import { changesOf, openSearchHarness, type OpenSearchHarness } from './harness.ts'

const ids = nextIds(undefined, 1_750_000_000_000, 5_000)

function document(text: string, change: Partial<HistoryDocument> = {}): HistoryDocument {
  return {
    tenant: 'acme',
    session: 's-1',
    runId: 'run-1',
    messageId: ids.shift() ?? '',
    part: 'u',
    role: 'user',
    agent: 'default',
    text,
    time: 1_750_000_000_000,
    ...change,
  }
}

withEngines(['opensearch'], ({ opensearch }) => {
  describe('writing the history to OpenSearch', () => {
    let proxy: Proxy
    let harness: OpenSearchHarness
    beforeAll(async () => {
      proxy = await startProxy(opensearch)
      harness = openSearchHarness(opensearch, new Client({ node: proxy.endpoint, maxRetries: 0 }))
    })
    afterAll(async () => {
      await harness.close()
      await proxy.close()
    })

    const texts = async (text: string, session?: string): Promise<string[]> => {
      await harness.refresh()
      const scope = { tenant: 'acme', ...definedFields({ session }) }
      return (await harness.index.search({ scope, text, filters: {}, limit: 50 })).hits.map(({ snippet }) => snippet)
    }

    test('keeps the greatest revision of a document, even if an older revision arrives later', async () => {
      const newer = document('version two')
      const older = { ...newer, text: 'version one' }
      await harness.writer.write(changesOf([newer], 2))
      expect(await harness.writer.write(changesOf([older], 1))).toEqual([{ done: true }])
      expect(await texts('version')).toEqual(['«version» two'])
    })

    test('a removal is not undone by an older revision, and succeeds if nothing is stored', async () => {
      const gone = document('vanishing')
      const { key, messageId } = changesOf([gone])[0] ?? { key: { tenant: '', session: '' }, messageId: '' }
      const removal = { key, messageId, revision: 2, documents: [], removed: ['u', 'u1'] }
      await harness.writer.write(changesOf([gone]))
      expect(await harness.writer.write([removal])).toEqual([{ done: true }])
      expect(await harness.writer.write(changesOf([gone]))).toEqual([{ done: true }])
      expect(await harness.writer.write([removal])).toEqual([{ done: true }])
      expect(await texts('vanishing')).toEqual([])
    })

    test('a document that can never be stored is dead-lettered once with the reason and blocks no other', async () => {
      const bad = document('impossible', { time: 1e300 })
      const good = document('possible')
      expect(await harness.writer.write(changesOf([bad, good]))).toEqual([{ done: true }, { done: true }])
      expect(harness.deadLettered).toHaveLength(1)
      expect(harness.deadLettered[0]).toMatchObject({
        tenant: 'acme',
        session: 's-1',
        messageId: bad.messageId,
        part: 'u',
      })
      expect(harness.deadLettered[0]?.error).toContain('400')
      expect(await texts('possible')).toHaveLength(1)
    })

    test('a write fails while the engine rejects everything, and succeeds when it is repeated', async () => {
      const late = document('patience')
      proxy.decide(({ path }) => (path === '/_bulk' ? { status: 503 } : 'pass'))
      expect(await harness.writer.write(changesOf([late]))).toMatchObject([{ done: false }])
      proxy.decide(() => 'pass')
      expect(await harness.writer.write(changesOf([late]))).toEqual([{ done: true }])
      expect(await texts('patience')).toHaveLength(1)
    })

    test('unusual texts are stored and found', async () => {
      const strange = [
        'lone \uD800 surrogate',
        'nul \u0000 byte',
        `${'x'.repeat(40_000)} tail`,
        '\u2028 line\u0085 ends',
      ]
      const outcomes = await harness.writer.write(
        changesOf(strange.map((text) => document(text, { session: 's-strange' }))),
      )
      expect(outcomes.every(({ done }) => done)).toBe(true)
      expect(await texts('surrogate', 's-strange')).toHaveLength(1)
      expect(await texts('tail', 's-strange')).toHaveLength(1)
      expect(await texts('ends', 's-strange')).toHaveLength(1)
    })
  })
})
