import { expect, test } from 'vitest'
import { openDatabase } from '../../../../functions/adapters/sqlite/database.ts'
import { createSqliteSessionStore } from '../../../../functions/adapters/sqlite/log/sessions/session-store.ts'
import type { SessionFilter } from '../../../../functions/domain/session-filter.ts'
import { createManualClock } from '../../../contracts/stores.ts'

const SESSIONS = 2_500
const tenant = 'acme'

async function openSessions() {
  const database = openDatabase(':memory:')
  const clock = createManualClock()
  const sessions = createSqliteSessionStore({ database, clock })
  for (let n = 0; n < SESSIONS; n++) {
    clock.advance(1)
    const agent = n === 100 || n === 2_400 ? 'rare' : 'helper'
    const metadata = { folder: `/p/${n}`, source: 'codex' }
    await sessions.create({ tenant, session: `s${n}`, agent, owner: 'ada', metadata })
  }
  async function pagesOf(filter: Partial<SessionFilter>): Promise<string[][]> {
    const pages: string[][] = []
    for (let after: string | undefined, more = true; more;) {
      const page = await sessions.list({ tenant, limit: 10, ...filter, ...(after && { after }) })
      pages.push(page.sessions.map(({ session }) => session))
      after = page.next
      more = after !== undefined
    }
    return pages
  }
  return { database, sessions, pagesOf }
}

const PREFIX = { key: 'folder', value: '/p/100', isPrefix: true }

test.each<Partial<SessionFilter>>([{}, { sort: 'created_at' }, { sort: 'updated_at' }])(
  'a page compares a bounded number of sessions, and the next page continues after them: %o',
  async (order) => {
    const { database, pagesOf } = await openSessions()
    // The first page compares the sessions from s2499 down to s1500, the second down to s500, and the third down to s0.
    expect(await pagesOf({ ...order, owner: 'ada', agent: 'rare' })).toEqual([['s2400'], [], ['s100']])
    const found = Array.from({ length: 10 }, (_, n) => `s${1009 - n}`)
    expect(await pagesOf({ ...order, metadata: [PREFIX] })).toEqual([[], found, ['s100']])
    database.close()
  },
)

test('a page of a list with one indexed filter is full, whatever the sort order', async () => {
  const { database, sessions } = await openSessions()
  const source = [{ key: 'source', value: 'codex', isPrefix: false }]
  for (const sort of ['updated_at', 'created_at'] as const)
    for (const one of [{ owner: 'ada' }, { agent: 'helper' }, { metadata: source }]) {
      const page = await sessions.list({ tenant, sort, limit: 2_000, ...one })
      expect(page.sessions).toHaveLength(2_000)
      expect(page.next).toBeDefined()
    }
  database.close()
})
