import { expect, test } from 'vitest'
import { searchWithMetadata } from '../../functions/history/metadata-search.ts'

test('a search with a metadata filter ends even if the index returns only empty pages', async () => {
  let asked = 0
  const index = {
    search: async () => {
      asked++
      return { hits: [], ...(asked < 1_000 ? { next: `cursor-${asked}` } : {}) }
    },
  }
  const sessions = { findIds: async () => undefined, readLabels: async () => new Map() }
  const filters = { metadata: [{ key: 'team', value: 'a', isPrefix: false }] }
  const page = await searchWithMetadata({ index, sessions }, { scope: { tenant: 't' }, text: '→', limit: 10, filters })
  expect(page).toEqual({ hits: [], next: 'cursor-20' })
})
