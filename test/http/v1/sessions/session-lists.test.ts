import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { expectJson, openHttpHarness } from '../../harness.ts'
import type { HttpHarness } from '../../harness.ts'

let harness: HttpHarness
beforeEach(async () => {
  harness = await openHttpHarness()
})
afterEach(() => harness.close())

interface Listed {
  readonly id: string
  readonly title: string | null
  readonly title_source: string | null
  readonly first_message_at: string | null
  readonly last_message_at: string | null
  readonly message_count: number
}
interface Page {
  readonly data: readonly Listed[]
  readonly next: string | null
}

const list = (query = ''): Promise<Page> => expectJson<Page>(harness, 200, 'GET', `/v1/sessions?${query}`)
const ids = async (query = ''): Promise<string[]> => (await list(query)).data.map(({ id }) => id)
const made = (id: string, more: object = {}) => expectJson(harness, 201, 'POST', '/v1/sessions', { id, ...more })

/** Imports an input of this time. */
const importAt = (id: string, text: string, createdAt: string) =>
  expectJson(harness, 200, 'POST', `/v1/sessions/${id}/import`, {
    format: 'openai',
    messages: [{ role: 'user', content: text, created_at: createdAt }],
  })

describe('a session', () => {
  test('has the title of its first input at once, and the times and the number of its messages', async () => {
    await made('s')
    const sent = await expectJson(harness, 200, 'POST', '/v1/sessions/s/messages', {
      content: '## **Plan** a trip\nto Rome',
    })
    const session = await expectJson<Listed>(harness, 200, 'GET', '/v1/sessions/s')
    expect(session).toMatchObject({ title: 'Plan a trip', title_source: 'input', message_count: 2 })
    const log = await expectJson<{ data: { created_at: string }[] }>(harness, 200, 'GET', '/v1/sessions/s/messages')
    expect(session.first_message_at).toBe(log.data[0]?.created_at)
    expect(session.last_message_at).toBe(log.data.at(-1)?.created_at)
    expect(sent).toHaveProperty('id')
  })

  test("keeps a title that a client set, and gets its first input's title after the client removes it", async () => {
    await made('s', { title: 'Mine' })
    await expectJson(harness, 200, 'POST', '/v1/sessions/s/messages', { content: 'hello' })
    expect(await list()).toMatchObject({ data: [{ title: 'Mine', title_source: 'given' }] })
    const removed = await expectJson(harness, 200, 'PATCH', '/v1/sessions/s', { title: null })
    expect(removed).toMatchObject({ title: 'hello', title_source: 'input' })
    const renamed = await expectJson(harness, 200, 'PATCH', '/v1/sessions/s', { title: 'Again' })
    expect(renamed).toMatchObject({ title: 'Again', title_source: 'given' })
  })

  test("gives its title and the title's source to a fork, unless the fork is given a title", async () => {
    await made('s')
    await expectJson(harness, 200, 'POST', '/v1/sessions/s/messages', { content: 'hello' })
    const copy = await expectJson(harness, 201, 'POST', '/v1/sessions/s/fork', { id: 'copy' })
    expect(copy).toMatchObject({ title: 'hello (copy)', title_source: 'input', message_count: 2 })
    const again = await expectJson(harness, 201, 'POST', '/v1/sessions/copy/fork', { id: 'own', title: 'Own' })
    expect(again).toMatchObject({ title: 'Own', title_source: 'given' })
  })
})

describe('a list', () => {
  test('is sorted and limited by the times of messages, with sessions without messages last', async () => {
    for (const id of ['a', 'b', 'c', 'd']) await made(id)
    await importAt('a', 'first', '2025-03-01T10:00:00Z')
    await importAt('b', 'second', '2025-03-02T10:00:00Z')
    await importAt('c', 'third', '2025-03-03T10:00:00Z')
    expect(await ids()).toEqual(['c', 'b', 'a', 'd'])
    expect(await ids('order=asc')).toEqual(['a', 'b', 'c', 'd'])
    expect(await ids('since=2025-03-02')).toEqual(['c', 'b'])
    expect(await ids('until=2025-03-02')).toEqual(['b', 'a'])
    expect(await ids('since=2025-03-02&until=2025-03-02T10:00:00Z')).toEqual(['b'])
    expect(await ids('sort=created_at&order=asc')).toEqual(['a', 'b', 'c', 'd'])
    expect(await ids('sort=created_at&until=2025-03-09')).toEqual([])
    expect((await list()).data[0]).toMatchObject({ last_message_at: '2025-03-03T10:00:00.000Z', message_count: 1 })
  })

  test('filters by metadata and words, together with other filters', async () => {
    await made('a', { metadata: { folder: '/home/ann/shop', source: 'codex' }, title: 'Fix the basket' })
    await made('b', { metadata: { folder: '/home/ann/blog', source: 'codex' }, title: 'Write about baskets' })
    expect((await ids('metadata.folder=/home/ann/*')).toSorted()).toEqual(['a', 'b'])
    expect(await ids('metadata.folder=/home/ann/shop')).toEqual(['a'])
    expect(await ids('metadata.source=codex&q=write+bask')).toEqual(['b'])
    expect(await ids('q=bask&metadata.folder=/home/ann/s*&agent=default')).toEqual(['a'])
  })

  test.each([
    ['sort=newest', 'query.sort'],
    ['order=up', 'query.order'],
    ['q=%3F%3F', 'query.q'],
    ['q=', 'query.q'],
    ['metadata.folder=*', 'query.metadata.folder'],
    ['metadata.folder=', 'query.metadata.folder'],
    ['metadata.=x', 'query.metadata.'],
  ])('with %s is rejected with the path', async (query, path) => {
    const problem = await expectJson(harness, 422, 'GET', `/v1/sessions?${query}`)
    expect(problem['errors']).toMatchObject([{ path }])
  })

  test('refuses the cursor of another list, and returns short cursors', async () => {
    for (let n = 0; n < 3; n++) await made(`${n}`.padStart(128, 'x'))
    const { next } = await list('limit=1')
    expect(next?.length).toBeLessThanOrEqual(64)
    expect(await ids(`limit=2&after=${next}`)).toHaveLength(2)
    for (const other of ['sort=created_at', 'order=asc', 'owner=me', 'q=x', 'metadata.folder=/a']) {
      const problem = await expectJson(harness, 422, 'GET', `/v1/sessions?limit=1&after=${next}&${other}`)
      expect(problem).toMatchObject({ errors: [{ path: 'query.after' }] })
    }
  })

  test('that has not changed is answered without a body', async () => {
    await made('s')
    const first = await harness.send('GET', '/v1/sessions')
    await first.body?.cancel()
    const etag = first.headers.get('etag') ?? ''
    const same = await harness.send('GET', '/v1/sessions', undefined, { 'if-none-match': etag })
    expect([same.status, await same.text()]).toEqual([304, ''])
    await expectJson(harness, 200, 'POST', '/v1/sessions/s/messages', { content: 'hello' })
    const changed = await harness.send('GET', '/v1/sessions', undefined, { 'if-none-match': etag })
    expect(changed.status).toBe(200)
    await changed.body?.cancel()
  })
})

test('an import describes its session: it sets a title of higher rank, and adds to existing metadata', async () => {
  await made('s', { metadata: { kept: true } })
  const post = async (body: string, status = 200): Promise<unknown> => {
    const headers = { 'content-type': 'application/x-ndjson' }
    const response = await harness.send('POST', '/v1/sessions/s/import', body, headers)
    expect(response.status).toBe(status)
    return response.json()
  }
  const head = (fields: object): string => `${JSON.stringify({ object: 'session', ...fields })}\n`
  const said = `${JSON.stringify({ role: 'user', parts: [{ type: 'text', text: 'hello' }] })}\n`
  await post(head({ title: 'Theirs', title_source: 'agent', metadata: { folder: '/a' } }) + said)
  const described = { title: 'Theirs', title_source: 'agent', metadata: { kept: true, folder: '/a' }, message_count: 1 }
  expect((await list()).data).toMatchObject([described])
  await post(head({ title: 'Newer', title_source: 'agent' }))
  await post(head({ title: 'Input', title_source: 'input' }))
  expect((await list()).data).toMatchObject([{ title: 'Newer', title_source: 'agent' }])
  await expectJson(harness, 200, 'PATCH', '/v1/sessions/s', { title: 'Mine' })
  await post(head({ title: 'Last', title_source: 'agent' }))
  expect((await list()).data).toMatchObject([{ title: 'Mine', title_source: 'given' }])
  const refused = await post(head({ title: 7 }) + said, 422)
  expect(refused).toMatchObject({ errors: [{ path: 'body.session.title' }] })
  expect(await post(head({ metadata: { big: 'x'.repeat(17_000) } }), 422)).toMatchObject({
    errors: [{ path: 'body.session.metadata' }],
  })
  expect((await list()).data).toMatchObject([{ message_count: 1 }])
})

test('a native export and import keep the title, its source, the metadata and the times', async () => {
  await made('s', { metadata: { folder: '/a' } })
  await importAt('s', 'Where it began', '2025-03-01T10:00:00Z')
  await expectJson(harness, 201, 'POST', '/v1/sessions/s/fork', { id: 'copy' })
  const exported = await (await harness.send('GET', '/v1/sessions/copy/export')).text()
  await made('t')
  const headers = { 'content-type': 'application/x-ndjson' }
  expect((await harness.send('POST', '/v1/sessions/t/import', exported, headers)).status).toBe(200)
  expect(await expectJson(harness, 200, 'GET', '/v1/sessions/t')).toMatchObject({
    ...{ title: 'Where it began (copy)', title_source: 'input', metadata: { folder: '/a' }, message_count: 1 },
    ...{ first_message_at: '2025-03-01T10:00:00.000Z', last_message_at: '2025-03-01T10:00:00.000Z' },
  })
})

test('an input through another API also sets the title', async () => {
  const asked = { role: 'user', content: '**Why** is the sky blue?' }
  const parts = [{ type: 'text', text: asked.content }]
  await expectJson(harness, 200, 'POST', '/openai/v1/chat/completions', { model: 'default', messages: [asked] })
  await expectJson(harness, 200, 'POST', '/openai/v1/responses', { model: 'default', input: asked.content })
  const talk = [{ role: 'user', content: 'First of all' }, { role: 'assistant', content: 'Yes?' }, asked]
  await expectJson(harness, 200, 'POST', '/openai/v1/chat/completions', { model: 'default', messages: talk })
  const chat = { id: 'chat', messages: [{ id: 'm1', role: 'user', parts }], trigger: 'submit-message' }
  await (await harness.send('POST', '/v1/chat', chat)).text()
  const titles = (await list()).data.map(({ title, title_source: source }) => `${title} (${source})`)
  expect(titles.toSorted()).toEqual([
    'First of all (input)',
    ...Array.from({ length: 3 }, () => 'Why is the sky blue? (input)'),
  ])
})
