import { expect, test } from 'vitest'
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
  documents: { count: 1, tookMs: 5 },
  documentsOfTable: 1,
  domain: undefined,
  errors: [],
}

test('an index that the person may not read is no fault of the environment', () => {
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

test('status says that it wakes a serverless index, and not of a domain', () => {
  expect(statusText(WELL)).toMatch(/^ {2}Search +serverless; counting its documents wakes a sleeping index/m)
  expect(statusText({ ...WELL, domain: { green: true, text: 'Green' } })).not.toContain('wakes')
})
