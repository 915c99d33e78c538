import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { expectJson, openHttpHarness } from '../../harness.ts'
import type { HttpHarness } from '../../harness.ts'

let harness: HttpHarness
beforeEach(async () => {
  harness = await openHttpHarness()
})
afterEach(() => harness.close())

interface Hit {
  readonly session_id: string
  readonly message_id: string
  readonly session_title: string | null
  readonly folder?: string
  readonly more?: number
}
interface Page {
  readonly data: readonly Hit[]
  readonly next: string | null
}

const search = (query: string): Promise<Page> => expectJson<Page>(harness, 200, 'GET', `/v1/search?${query}`)
const sessionsOf = async (query: string): Promise<string[]> =>
  (await search(query)).data.map(({ session_id }) => session_id)

/**
 * Creates a session with these inputs. `from` is the time of the first input, and each further input is one minute later.
 */
async function made(id: string, inputs: readonly string[], more: object = {}, from = '2026-11-01T10:00:00Z') {
  await expectJson(harness, 201, 'POST', '/v1/sessions', { id, ...more })
  const messages = inputs.flatMap((content, n) => {
    const created_at = new Date(Date.parse(from) + n * 60_000).toISOString()
    return [
      { role: 'user', content, created_at },
      { role: 'assistant', content: 'noted', created_at },
    ]
  })
  await expectJson(harness, 200, 'POST', `/v1/sessions/${id}/import`, { format: 'openai', messages })
}

/** Reads all pages. */
async function pagesOf(query: string): Promise<Page[]> {
  const pages: Page[] = []
  for (let after = ''; ;) {
    const page = await search(`${query}${after}`)
    pages.push(page)
    if (page.next === null) return pages
    expect(page.next.length).toBeLessThanOrEqual(40)
    after = `&after=${page.next}`
  }
}

const metadata = (folder: string, branch: string) => ({ metadata: { folder, branch, source: 'codex' } })

describe('a search', () => {
  test('shows the title of the session, and its folder if it has one', async () => {
    await made('a', ['# The **crate** is blue\nsecond line'], metadata('/home/ada/shop', 'main'))
    await made('b', ['which crate'], { title: 'Crates', metadata: { folder: 7 } })
    const { data } = await search('q=crate&sort=oldest')
    expect(data).toMatchObject([
      { session_id: 'a', session_title: 'The crate is blue', folder: '/home/ada/shop' },
      { session_id: 'b', session_title: 'Crates' },
    ])
    expect(data[1]).not.toHaveProperty('folder')
    expect(data[0]).not.toHaveProperty('more')
  })

  test('sorts by time in both orders, page by page', async () => {
    await made('a', ['crate one', 'crate two'], {}, '2026-11-03T10:00:00Z')
    await made('b', ['crate three'], {}, '2026-11-02T10:00:00Z')
    expect(await sessionsOf('q=crate&sort=newest')).toEqual(['a', 'a', 'b'])
    expect(await sessionsOf('q=crate&sort=oldest')).toEqual(['b', 'a', 'a'])
    const pages = await pagesOf('q=crate&sort=oldest&limit=1')
    expect(pages.flatMap(({ data }) => data.map(({ session_id }) => session_id))).toEqual(['b', 'a', 'a'])
  })

  test('grouped by session returns one hit of each session, with the number of further hits', async () => {
    await made('a', ['crate one', 'crate two', 'crate three'])
    await made('b', ['crate four'])
    const { data } = await search('q=crate&group=session')
    expect(Object.fromEntries(data.map(({ session_id, more }) => [session_id, more]))).toEqual({ a: 2, b: 0 })
  })

  test('filters by metadata, exactly and by prefix, alone and together', async () => {
    await made('a', ['crate'], metadata('/home/ada/shop', 'main'))
    await made('b', ['crate'], metadata('/home/ada/shop/web', 'fix'))
    await made('c', ['crate'], metadata('/srv', 'main'))
    await made('d', ['crate'], { owner: 'ada' })
    const found = async (query: string): Promise<string[]> => (await sessionsOf(`q=crate&${query}`)).toSorted()
    expect(await found('metadata.folder=/home/ada/shop')).toEqual(['a'])
    expect(await found('metadata.folder=/home/ada*')).toEqual(['a', 'b'])
    expect(await found('metadata.branch=main')).toEqual(['a', 'c'])
    expect(await found('metadata.branch=main&metadata.folder=/srv')).toEqual(['c'])
    expect(await found('metadata.source=codex&session=b')).toEqual(['b'])
    expect(await found('metadata.source=codex&session=d')).toEqual([])
    expect(await found('metadata.source=codex&owner=ada')).toEqual([])
    expect(await found('metadata.source=other')).toEqual([])
  })

  test('finds a session by its current metadata after a change', async () => {
    await made('a', ['crate'], metadata('/old', 'main'))
    await expectJson(harness, 200, 'PATCH', '/v1/sessions/a', { title: 'New', metadata: { folder: '/new' } })
    expect(await sessionsOf('q=crate&metadata.folder=/old')).toEqual([])
    const { data } = await search('q=crate&metadata.folder=/new')
    expect(data).toMatchObject([{ session_title: 'New', folder: '/new' }])
  })

  test('of more sessions than the index query can contain returns all hits in order, page by page', async () => {
    const { sessions } = harness.ports
    for (let n = 0; n < 1_000; n++)
      await sessions.create({
        tenant: 'default',
        session: `silent${n}`,
        agent: 'default',
        metadata: { folder: '/big' },
      })
    const wanted: string[] = []
    for (let n = 0; n < 12; n++) {
      const folder = n % 3 === 0 ? '/big' : '/other'
      const from = new Date(Date.UTC(2026, 9, 1 + n)).toISOString()
      await made(
        `s${n}`,
        Array.from({ length: 6 }, (_, at) => `crate ${at}`),
        { metadata: { folder } },
        from,
      )
      if (folder === '/big') wanted.push(`s${n}`)
    }
    for (const sort of ['newest', 'oldest', 'relevance']) {
      const query = `q=crate&metadata.folder=/big&sort=${sort}`
      const pages = await pagesOf(`${query}&limit=7`)
      const hits = pages.flatMap(({ data }) => data)
      expect(hits).toHaveLength(24)
      expect(new Set(hits.map(({ message_id }) => message_id)).size).toBe(24)
      expect([...new Set(hits.map(({ session_id }) => session_id))].toSorted()).toEqual(wanted.toSorted())
      expect(pages.every(({ data }) => data.length <= 7)).toBe(true)
      const whole = await search(`${query}&limit=50`)
      expect(whole.data.map(({ message_id }) => message_id)).toEqual(hits.map(({ message_id }) => message_id))
    }
    const groups = await pagesOf('q=crate&metadata.folder=/big&group=session&limit=1')
    expect(groups.flatMap(({ data }) => data.map(({ more }) => more))).toEqual([5, 5, 5, 5])
  })

  test.each([
    ['sort=best', 'query.sort'],
    ['group=run', 'query.group'],
    ['metadata.folder=', 'query.metadata.folder'],
    ['metadata.folder=*', 'query.metadata.folder'],
    ['metadata.=x', 'query.metadata.'],
    [`after=${'x'.repeat(65)}`, 'query.after'],
  ])('with %s is rejected with its path', async (query, path) => {
    expect(await expectJson(harness, 422, 'GET', `/v1/search?q=x&${query}`)).toMatchObject({ errors: [{ path }] })
  })

  test('refuses a cursor of a search with other metadata, another order or other groups', async () => {
    await made('a', ['crate one', 'crate two', 'crate three'], metadata('/p', 'main'))
    const query = 'q=crate&limit=1&metadata.folder=/p'
    const { next } = await search(query)
    expect((await search(`${query}&after=${next}`)).data).toHaveLength(1)
    for (const other of ['q=crate', 'q=crate&metadata.folder=/p*', `${query}&sort=newest`, `${query}&group=session`])
      expect(await expectJson(harness, 422, 'GET', `/v1/search?${other}&after=${next}`)).toMatchObject({
        errors: [{ path: 'query.after' }],
      })
  })
})
