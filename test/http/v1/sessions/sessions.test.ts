/* Evidence, durability: A deletion completes only when search finds none of the session's documents. */
import { TooltrailError } from '../../../../functions/domain/errors.ts'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { expectJson, openHttpHarness } from '../../harness.ts'
import type { HttpHarness } from '../../harness.ts'

let harness: HttpHarness
beforeEach(async () => {
  harness = await openHttpHarness()
})
afterEach(() => harness.close())

describe('creating a session', () => {
  test('returns it completely, with its address', async () => {
    const body = {
      id: 'my-own.id:1',
      agent: 'other',
      owner: 'user-7',
      title: 'A title',
      instructions: 'Be kind.',
      metadata: { nested: { list: [1, null] } },
    }
    const response = await harness.send('POST', '/v1/sessions', body)
    expect(response.status).toBe(201)
    expect(response.headers.get('location')).toBe('/v1/sessions/my-own.id:1')
    expect(await response.json()).toEqual({
      object: 'session',
      ...body,
      title_source: 'given',
      first_message_at: null,
      last_message_at: null,
      message_count: 0,
      created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/) as string,
      updated_at: expect.stringMatching(/Z$/) as string,
      run: null,
      usage: {
        input_tokens: null,
        cached_input_tokens: null,
        cache_write_tokens: null,
        output_tokens: null,
        reasoning_tokens: null,
        total_tokens: null,
        runs: 0,
        rounds: 0,
        by_agent: {},
      },
    })
  })

  test('needs no body, and generates an id', async () => {
    const session = await expectJson(harness, 201, 'POST', '/v1/sessions')
    expect(session).toMatchObject({ agent: 'default', owner: null, title: null, metadata: {} })
    expect(await expectJson(harness, 200, 'GET', `/v1/sessions/${String(session['id'])}`)).toEqual(session)
  })

  test('with a duplicate id is refused', async () => {
    await expectJson(harness, 201, 'POST', '/v1/sessions', { id: 'taken' })
    expect(await expectJson(harness, 409, 'POST', '/v1/sessions', { id: 'taken' })).toMatchObject({
      type: 'urn:tooltrail:problem:session_exists',
      status: 409,
      instance: '/v1/sessions',
    })
  })

  test('with an agent that does not exist is refused', async () => {
    await expectJson(harness, 409, 'POST', '/v1/sessions', { agent: 'nobody' })
  })

  test.each([
    ['an id that starts wrong', { id: '-starts-wrong' }, 'body.id'],
    ['an id that is too long', { id: 'a'.repeat(129) }, 'body.id'],
    ['an id with a slash', { id: 'a/b' }, 'body.id'],
    ['an id with NUL', { id: 'a\u0000' }, 'body.id'],
    ['an agent that is no string', { agent: 7 }, 'body.agent'],
    ['an empty owner', { owner: '' }, 'body.owner'],
    ['a title that is too long', { title: 'x'.repeat(501) }, 'body.title'],
    ['instructions that are too long', { instructions: 'x'.repeat(100_001) }, 'body.instructions'],
    ['metadata that is a list', { metadata: [] }, 'body.metadata'],
    ['metadata of more than 16 KB', { metadata: { big: 'x'.repeat(17_000) } }, 'body.metadata'],
    ['an unknown field', { unknown: 1 }, 'body.unknown'],
    ['a list', [], 'body'],
  ])('with %s is rejected with the path of the mistake', async (_name, body, path) => {
    const problem = await expectJson(harness, 400, 'POST', '/v1/sessions', body)
    expect(problem['errors']).toMatchObject([{ path }])
    expect((await expectJson(harness, 200, 'GET', '/v1/sessions'))['data']).toEqual([])
  })
})

describe('listing sessions', () => {
  test('returns pages that contain each session once', async () => {
    for (let index = 0; index < 5; index++) await expectJson(harness, 201, 'POST', '/v1/sessions', { id: `s${index}` })
    const seen: string[] = []
    let after = ''
    for (let turn = 0; turn < 4; turn++) {
      const page: { data: { id: string }[]; next: string | null; has_more: boolean } = await expectJson(
        harness,
        200,
        'GET',
        `/v1/sessions?limit=2${after}`,
      )
      seen.push(...page.data.map(({ id }) => id))
      expect(page.has_more).toBe(page.next !== null)
      if (page.next === null) break
      after = `&after=${encodeURIComponent(page.next)}`
    }
    expect(seen.toSorted()).toEqual(['s0', 's1', 's2', 's3', 's4'])
  })

  test('filters by owner, agent and the state of the latest run', async () => {
    await expectJson(harness, 201, 'POST', '/v1/sessions', { id: 'a', owner: 'me' })
    await expectJson(harness, 201, 'POST', '/v1/sessions', { id: 'b', agent: 'other' })
    await expectJson(harness, 200, 'POST', '/v1/sessions/b/messages', { content: 'hello' })
    const ids = async (query: string): Promise<unknown> => {
      const { data } = await expectJson<{ data: { id: string }[] }>(harness, 200, 'GET', `/v1/sessions?${query}`)
      return data.map(({ id }) => id)
    }
    expect(await ids('owner=me')).toEqual(['a'])
    expect(await ids('agent=other')).toEqual(['b'])
    expect(await ids('run_status=completed')).toEqual(['b'])
    expect(await ids('run_status=failed')).toEqual([])
  })

  test.each([
    'limit=0',
    'limit=101',
    'limit=x',
    'limit=',
    'limit=1&limit=2',
    'owner=',
    'run_status=merged',
    'unknown=1',
    'since=yesterday',
  ])('with %s is rejected', async (query) => {
    await expectJson(harness, 400, 'GET', `/v1/sessions?${query}`)
  })
})

test('a list of sessions with an invalid cursor is rejected', async () => {
  for (const after of ['', 'rubbish', `s${'A'.repeat(12)}`, 'x'.repeat(500)]) {
    const problem = await expectJson(harness, 422, 'GET', `/v1/sessions?after=${after}`)
    expect(problem['errors']).toMatchObject([{ path: 'query.after' }])
  }
})

describe('changing a session', () => {
  test('changes the named fields, removes fields set to null, and keeps the others', async () => {
    await expectJson(harness, 201, 'POST', '/v1/sessions', {
      id: 's',
      title: 'old',
      instructions: 'x',
      metadata: { a: 1 },
    })
    const changed = await expectJson(harness, 200, 'PATCH', '/v1/sessions/s', { title: null, agent: 'other' })
    expect(changed).toMatchObject({ title: null, agent: 'other', instructions: 'x', metadata: { a: 1 } })
    const again = await expectJson(harness, 200, 'PATCH', '/v1/sessions/s', { instructions: null, metadata: { b: 2 } })
    expect(again).toMatchObject({ metadata: { b: 2 } })
    expect(again).not.toHaveProperty('instructions')
  })

  test.each([{ title: 7 }, { metadata: null }, { agent: null }, { instructions: 1 }, { owner: 'me' }])(
    'to %j is rejected',
    async (body) => {
      await expectJson(harness, 201, 'POST', '/v1/sessions', { id: 's' })
      await expectJson(harness, 400, 'PATCH', '/v1/sessions/s', body)
    },
  )

  test('to an unknown agent is refused', async () => {
    await expectJson(harness, 201, 'POST', '/v1/sessions', { id: 's' })
    await expectJson(harness, 409, 'PATCH', '/v1/sessions/s', { agent: 'nobody' })
  })

  test('without a body is rejected', async () => {
    await expectJson(harness, 201, 'POST', '/v1/sessions', { id: 's' })
    await expectJson(harness, 400, 'PATCH', '/v1/sessions/s')
    await expectJson(harness, 200, 'PATCH', '/v1/sessions/s', {})
  })

  test('gets 404 if the session does not exist', async () => {
    await expectJson(harness, 404, 'PATCH', '/v1/sessions/nothing', { title: 'x' })
  })
})

describe('deleting a session', () => {
  test('returns the number of deleted items, and the session is unknown afterwards', async () => {
    await expectJson(harness, 201, 'POST', '/v1/sessions', { id: 's' })
    await expectJson(harness, 200, 'POST', '/v1/sessions/s/messages', { content: 'hello' })
    const deletion = await expectJson(harness, 200, 'DELETE', '/v1/sessions/s')
    expect(deletion).toMatchObject({
      object: 'deletion',
      id: 's',
      session_id: 's',
      status: 'completed',
      deleted: { messages: 2, runs: 1, outputs: 0 },
    })
    expect(await expectJson(harness, 200, 'GET', '/v1/deletions/s')).toEqual(deletion)
    await expectJson(harness, 404, 'GET', '/v1/sessions/s')
    await expectJson(harness, 404, 'DELETE', '/v1/sessions/s')
    await expectJson(harness, 404, 'GET', '/v1/sessions/s/messages')
    await expectJson(harness, 409, 'POST', '/v1/sessions', { id: 's' })
  })

  test('gets 202 and the address of the deletion if the deletion exceeds the time of a request', async () => {
    const state = { messages: 10, runs: 1, documents: 3, outputs: 0, removed: false }
    await expectJson(harness, 201, 'POST', '/v1/sessions', { id: 's' })
    const slow = await openHttpHarness()
    try {
      await expectJson(slow, 201, 'POST', '/v1/sessions', { id: 's' })
      slow.program.service.deleteSession = async () => state
      const response = await slow.send('DELETE', '/v1/sessions/s')
      expect(response.status).toBe(202)
      expect(response.headers.get('location')).toBe('/v1/deletions/s')
      expect(await response.json()).toMatchObject({ status: 'running', deleted: { messages: 10 } })
    } finally {
      await slow.close()
    }
  })

  test('is completed only when the search responds and finds no document of the session', async () => {
    let found: 'one' | 'none' | 'no response' = 'one'
    const document = {
      session: 's',
      runId: 'r',
      messageId: 'm',
      role: 'user',
      agent: 'a',
      time: 0,
      score: 0,
      snippet: '',
      matched: [] as const,
    } as const
    const following = await openHttpHarness({
      change: (ports) => ({
        ...ports,
        index: {
          ...ports.index,
          async search() {
            if (found === 'no response') throw new TooltrailError('search_unavailable', 'asleep', { retryable: true })
            return { hits: found === 'one' ? [document] : [] }
          },
        },
      }),
    })
    try {
      await expectJson(following, 201, 'POST', '/v1/sessions', { id: 's' })
      const first = await following.send('DELETE', '/v1/sessions/s')
      expect(first.status).toBe(202)
      expect(await first.json()).toMatchObject({ status: 'running' })
      const status = async (): Promise<unknown> =>
        (await expectJson(following, 200, 'GET', '/v1/deletions/s'))['status']
      expect(await status()).toBe('running')
      found = 'no response'
      expect(await status()).toBe('running')
      found = 'none'
      expect(await status()).toBe('completed')
    } finally {
      await following.close()
    }
  })

  test('has no progress to read if the session never existed or was never deleted', async () => {
    await expectJson(harness, 201, 'POST', '/v1/sessions', { id: 'live' })
    await expectJson(harness, 404, 'GET', '/v1/deletions/live')
    await expectJson(harness, 404, 'GET', '/v1/deletions/unknown')
    await expectJson(harness, 404, 'GET', '/v1/deletions/-bad')
  })
})
