/* Evidence, cloud: `status` succeeds without access to the index; `redrive` returns hints if the index refuses. */
import { expect, test } from 'vitest'
import { INDEX_VERSION } from '../../../functions/adapters/opensearch/indexed-document.ts'
import { isIndexOutdated } from '../../../functions/adapters/opensearch/index-state.ts'
import type { SearchClient } from '../../../functions/adapters/opensearch/requests.ts'
import { needsAttention, statusText } from '../../../functions/cli/commands/status-text.ts'
import type { Status } from '../../../functions/runtime/aws/status.ts'

const WELL: Status = {
  environment: 'dev',
  region: 'us-east-1',
  apiUrl: 'https://api.example.com',
  table: { name: 'log', items: 1, bytes: 1_024 },
  queue: { waiting: 0, taken: 0 },
  oldestSeconds: undefined,
  deadLetters: { waiting: 0, taken: 0 },
  indexDeadLetters: { waiting: 0, taken: 0 },
  failedBatches: 0,
  indexLagMs: undefined,
  documents: { count: 1, tookMs: 5, isOutdated: false },
  documentsOfTable: 1,
  domain: undefined,
  errors: [],
}

test('an index that the person may not read is not a fault of the environment', () => {
  const status: Status = { ...WELL, documents: 'refused' }
  expect(statusText(status)).toMatch(/^ {2}Documents +not counted: your role is not an operator/m)
  expect(statusText(status)).toContain('Nothing needs attention.')
  expect(needsAttention(status)).toBe(false)
})

test('an index that fails needs attention', () => {
  const status = { ...WELL, documents: new Error('OpenSearch responded with 500') }
  expect(statusText(status)).toMatch(/^! Documents +cannot be read: OpenSearch responded with 500/m)
  expect(needsAttention(status)).toBe(true)
})

test('the status notes that counting documents wakes a serverless index; a domain has no such note', () => {
  expect(statusText(WELL)).toMatch(/^ {2}Search +serverless; counting its documents wakes a sleeping index/m)
  expect(statusText({ ...WELL, domain: { green: true, text: 'Green' } })).not.toContain('wakes')
})

test('an index of an earlier version needs a rebuild', async () => {
  const indexes = (statusCode: number, ...names: readonly string[]): SearchClient => ({
    transport: {
      request: async ({ path }) => {
        expect(path).toBe('/_alias/history')
        return { statusCode, body: Object.fromEntries(names.map((name) => [name, {}])) }
      },
    },
    close: async () => {},
  })
  const current = `history-v${INDEX_VERSION}-first`
  expect(await isIndexOutdated(indexes(200, 'history-v1-first', current), 'history')).toBe(false)
  expect(await isIndexOutdated(indexes(200, `history-v${INDEX_VERSION}0-first`), 'history')).toBe(true)
  expect(await isIndexOutdated(indexes(404), 'history')).toBe(false)
  await expect(isIndexOutdated(indexes(403), 'history')).rejects.toMatchObject({ status: 403 })

  const status = { ...WELL, documents: { count: 1, tookMs: 5, isOutdated: true } }
  expect(statusText(status)).toMatch(/^! Documents +1 in the index/m)
  expect(statusText(status)).toMatch(/^! An earlier version made the index, .*: npx tooltrail rebuild --env dev$/m)
  expect(needsAttention(status)).toBe(true)
})
