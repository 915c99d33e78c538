import { expect, test } from 'vitest'
import { openDatabase } from '../../../../functions/adapters/sqlite/database.ts'
import { createSqliteSessionStore } from '../../../../functions/adapters/sqlite/log/sessions/session-store.ts'
import { createManualClock } from '../../../contracts/stores.ts'

const SESSIONS = 5_000
const tenant = 'acme'

test('a page of what few sessions match looks at a bounded number of them, and the next goes on behind', async () => {
  const database = openDatabase(':memory:')
  const clock = createManualClock()
  const sessions = createSqliteSessionStore({ database, clock })
  for (let n = 0; n < SESSIONS; n++) {
    clock.advance(1)
    const agent = n === 100 || n === 4_900 ? 'rare' : 'helper'
    await sessions.create({ tenant, session: `s${n}`, agent, owner: 'ada', metadata: {} })
  }
  const pages: string[][] = []
  for (let after: string | undefined, more = true; more;) {
    const page = await sessions.list({ tenant, owner: 'ada', agent: 'rare', limit: 10, ...(after && { after }) })
    pages.push(page.sessions.map(({ session }) => session))
    after = page.next
    more = after !== undefined
  }
  expect(pages).toEqual([['s4900'], [], ['s100']])
  const full = await sessions.list({ tenant, owner: 'ada', agent: 'helper', limit: 2 })
  expect(full.sessions.map(({ session }) => session)).toEqual(['s4999', 's4998'])
  const { sessions: next } = await sessions.list({
    ...{ tenant, owner: 'ada', agent: 'helper', limit: 2 },
    ...(full.next && { after: full.next }),
  })
  expect(next.map(({ session }) => session)).toEqual(['s4997', 's4996'])
  database.close()
})
