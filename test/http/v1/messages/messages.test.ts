/* Evidence, api: Empty or blank instructions are not sent to the model, and `format=openai` does not show them. */
import { afterEach, describe, expect, test } from 'vitest'
import { expectJson, openHttpHarness } from '../../harness.ts'
import type { HttpHarness } from '../../harness.ts'
import { makeTool } from '../../../agent/harness.ts'

interface Message {
  readonly id: string
  readonly role: string
  readonly parts: readonly { readonly type: string; readonly text?: string; readonly url?: string }[]
  readonly [field: string]: unknown
}
interface Page {
  readonly data: readonly Message[]
  readonly previous?: string | null
  readonly next: string | null
  readonly has_more: boolean
}

const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='

let harness: HttpHarness
afterEach(() => harness.close())

async function open(...options: Parameters<typeof openHttpHarness>): Promise<void> {
  harness = await openHttpHarness(...options)
  await expectJson(harness, 201, 'POST', '/v1/sessions', { id: 's' })
}

const echo = makeTool('echo', async (input) => ({ text: JSON.stringify(input) }))

describe('reading the log', () => {
  async function fill(): Promise<Message[]> {
    await open({
      script: [{ text: 'first', calls: [{ name: 'echo' }] }, { text: 'one' }, { text: 'two' }, { text: 'three' }],
      tools: [echo],
    })
    for (const content of ['a', 'b', 'c'])
      await expectJson(harness, 200, 'POST', '/v1/sessions/s/messages', { content })
    return [...(await read('')).data]
  }
  const read = async (query: string): Promise<Page> =>
    (await expectJson(harness, 200, 'GET', `/v1/sessions/s/messages?${query}`)) as Page

  async function readAll(query: string): Promise<Message[]> {
    const found: Message[] = []
    let after = ''
    for (let turn = 0; turn < 20; turn++) {
      const page = await read(`${query}${after}`)
      found.push(...page.data)
      expect(page.has_more).toBe(page.next !== null)
      if (page.next === null) return found
      after = `&after=${page.next}`
    }
    throw new Error('the pages do not end')
  }

  test.each(['asc', 'desc'])('pages through it %s, each message once', async (order) => {
    const all = await fill()
    expect(all).toHaveLength(8)
    expect(await readAll(`limit=3&order=${order}`)).toEqual(order === 'asc' ? all : all.toReversed())
    expect(await readAll(`limit=4&order=${order}`)).toHaveLength(8)
  })

  test('returns the messages between two ids', async () => {
    const all = await fill()
    expect((await read(`after=${all[1]?.id}&before=${all[4]?.id}`)).data).toEqual(all.slice(2, 4))
    expect((await read(`before=${all[4]?.id}&order=desc&limit=1`)).data).toEqual([all[3]])
  })

  test.each(['asc', 'desc'])('pages through the messages between two ids, in the order %s', async (order) => {
    const all = await fill()
    const found: unknown[] = []
    for (let after: string | null = all[1]?.id ?? ''; after !== null;) {
      const page: Page = await read(`after=${after}&before=${all[6]?.id}&order=${order}&limit=2`)
      found.push(...page.data)
      after = page.next
    }
    const between = all.slice(2, 6)
    expect(found).toEqual(order === 'asc' ? between : between.toReversed())
  })

  test('filters by roles, run and agent', async () => {
    const all = await fill()
    expect((await read('roles=tool,user')).data).toEqual(all.filter(({ role }) => role !== 'assistant'))
    expect((await read(`run=${String(all[0]?.['run_id'])}`)).data).toEqual(all.slice(0, 4))
    expect((await read('agent=other')).data).toEqual([])
  })

  test("as Chat Completions messages returns the model's request and the last completion", async () => {
    await fill()
    const page = await read('format=openai')
    expect(page.data).toMatchObject([
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: 'a' },
      { role: 'assistant', content: 'first', tool_calls: [{ id: 'call-0', type: 'function' }] },
      { role: 'tool', tool_call_id: 'call-0', content: '{}' },
      { role: 'assistant', content: 'one' },
      { role: 'user', content: 'b' },
      { role: 'assistant', content: 'two' },
      { role: 'user', content: 'c' },
      { role: 'assistant', content: 'three' },
    ])
    expect(await readAll('format=openai&limit=2')).toEqual(page.data)
  })

  test("as Chat Completions messages starts with the session's own instructions", async () => {
    await fill()
    await expectJson(harness, 200, 'PATCH', '/v1/sessions/s', { instructions: 'Be kind.' })
    expect((await read('format=openai&limit=1')).data).toEqual([{ role: 'system', content: 'Be kind.' }])
  })

  test.each([
    ['empty', ''],
    ['blank', ' \n'],
  ])(
    'as Chat Completions messages starts with the first message if the instructions are %s',
    async (_, instructions) => {
      await fill()
      await expectJson(harness, 200, 'PATCH', '/v1/sessions/s', { instructions })
      expect((await read('format=openai&limit=1')).data).toMatchObject([{ role: 'user' }])
    },
  )

  test('as Chat Completions messages carries links to the media of the latest run', async () => {
    await open({ script: [{ text: 'A dot.' }] })
    const content = [{ type: 'image', media_type: 'image/png', data: PNG }]
    await expectJson(harness, 200, 'POST', '/v1/sessions/s/messages', { content })
    const { role, content: shown } = (await read('format=openai')).data[1] as Record<string, unknown>
    expect({ role, shown }).toMatchObject({ role: 'user', shown: [{ type: 'image_url' }] })
    const url = (shown as { image_url: { url: string } }[])[0]?.image_url.url ?? ''
    const response = await harness.send('GET', url)
    expect(Buffer.from(await response.arrayBuffer()).toString('base64')).toBe(PNG)
  })

  test.each([
    'limit=0',
    'limit=1001',
    'limit=1.5',
    'roles=',
    'roles=system',
    'roles=user,',
    'run=x',
    'agent=',
    'format=xml',
    'unknown=1',
  ])('with %s is refused', async (query) => {
    await open()
    await expectJson(harness, 400, 'GET', `/v1/sessions/s/messages?${query}`)
  })

  test('with an unknown order is refused with its path', async () => {
    await open()
    const refused = await expectJson(harness, 422, 'GET', '/v1/sessions/s/messages?order=up')
    expect(refused).toMatchObject({ errors: [{ path: 'query.order' }] })
  })

  test.each(['-1', '0', '1001', 'x', '1.5'])('with limit=%s gets the allowed values', async (limit) => {
    await open()
    const problem = await expectJson(harness, 400, 'GET', `/v1/sessions/s/messages?limit=${limit}`)
    expect(problem['errors']).toEqual([{ path: 'query.limit', message: 'must be an integer from 1 to 1000' }])
  })

  test.each([
    ['after=x', 'after'],
    ['after=older_01JD2Q8N4T6W8Y0A2C4E6G8J0K_01JD2Q8N4T6W8Y0A2C4E6G8J0', 'after'],
    ['after=older_01JD2Q8N4T6W8Y0A2C4E6G8J0K', 'after'],
    ['before=x', 'before'],
    ['before=older_01JD2Q8N4T6W8Y0A2C4E6G8J0K', 'before'],
    ['around=x', 'around'],
    ['around=01JD2Q8N4T6W8Y0A2C4E6G8J0K&order=desc', 'around'],
    ['around=01JD2Q8N4T6W8Y0A2C4E6G8J0K&roles=user', 'around'],
    ['around=01JD2Q8N4T6W8Y0A2C4E6G8J0K&after=01JD2Q8N4T6W8Y0A2C4E6G8J0K', 'around'],
  ])('rejects the position %s with its path', async (query, field) => {
    await open()
    const problem = await expectJson(harness, 422, 'GET', `/v1/sessions/s/messages?${query}`)
    expect(problem['errors']).toMatchObject([{ path: `query.${field}` }])
  })

  test('rejects a position of another list with the path of the parameter, and returns no empty page', async () => {
    const [first] = await fill()
    await expectJson(harness, 201, 'POST', '/v1/sessions', { id: 'other' })
    const [id, run] = [first?.id, first?.['run_id']]
    for (const [path, status, field] of [
      [`s/messages?after=${String(run)}`, 422, 'after'],
      [`s/messages?before=${String(run)}`, 422, 'before'],
      [`s/messages?around=${String(run)}`, 404, 'around'],
      [`other/messages?around=${id}`, 404, 'around'],
      [`other/messages?after=${id}`, 422, 'after'],
      [`other/messages?after=older_${id}&order=desc`, 422, 'after'],
      [`s/runs?after=${id}`, 422, 'after'],
      [`other/runs?after=${String(run)}`, 422, 'after'],
    ] as const) {
      const problem = await expectJson(harness, status, 'GET', `/v1/sessions/${path}`)
      expect(problem['errors'], path).toMatchObject([{ path: `query.${field}` }])
    }
  })

  describe('around a message', () => {
    const ids = ({ data }: Page): unknown[] => data.map(({ id }) => id)

    test.each([
      // [place, limit, first, end]
      [4, 4, 2, 6],
      [4, 5, 2, 7],
      [4, 1, 4, 5],
      [0, 4, 0, 4],
      [1, 6, 0, 6],
      [7, 4, 4, 8],
      [6, 5, 3, 8],
      [3, 100, 0, 8],
    ])('message %i with limit %i: entries %i to %i, and positions to continue', async (place, limit, first, end) => {
      const all = await fill()
      const page = await read(`around=${all[place]?.id}&limit=${limit}`)
      expect(page.data).toEqual(all.slice(first, end))
      expect([page.previous, page.next]).toEqual([
        first === 0 ? null : all[first]?.id,
        end === 8 ? null : all[end - 1]?.id,
      ])
      expect(page.has_more).toBe(end < 8)
    })

    test('both directions lead to all of the log, each message once, oldest first', async () => {
      const all = await fill()
      const middle = await read(`around=${all[4]?.id}&limit=2`)
      let shown = ids(middle)
      for (let { previous } = middle; typeof previous === 'string';) {
        const page: Page = await read(`before=${previous}&limit=2`)
        shown = [...ids(page), ...shown]
        previous = page.previous
      }
      for (let { next } = middle; next !== null;) {
        const page: Page = await read(`after=${next}&limit=2`)
        shown.push(...ids(page))
        next = page.next
      }
      expect(shown).toEqual(all.map(({ id }) => id))
    })
  })

  test('rejects a message id as the cursor of Chat Completions messages, because these have their own cursors', async () => {
    await open()
    await expectJson(harness, 422, 'GET', '/v1/sessions/s/messages?format=openai&after=01JD2Q8N4T6W8Y0A2C4E6G8J0K')
  })
})
