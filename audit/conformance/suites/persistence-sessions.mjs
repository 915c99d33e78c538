/*
 * Repeats scenarios of two other test suites over HTTP. CA is the session store of the Claude Agent SDK, and CX the
 * agents of Convex. The interfaces of both differ from ours, so each check repeats only what a scenario tests.
 */
import { call, ok, session, say, log, texts, turn, imported, NEVER, useApi } from '../lib/api.mjs'
import { check, finish, is, same } from '../lib/checks.mjs'
import { scriptedModel } from '../lib/model.mjs'
import { sleep } from '../lib/options.mjs'
import { program } from '../lib/program.mjs'

const model = await scriptedModel()
const served = await program({ model })
useApi(served.base)
let n = 0

// ---- Claude Agent SDK, session store: 14 contracts
await check('CA 1 append then load returns the same entries in the same order', async () => {
  const id = await session()
  await imported(id, [...turn(1), ...turn(2)])
  same(texts(await log(id)), ['user: q1', 'assistant: a1', 'user: q2', 'assistant: a2'], 'log')
})
await check(
  'CA 2 load of an unknown key',
  async () =>
    `${(await call('GET', '/v1/sessions/never-written')).status} ${(await call('GET', '/v1/sessions/never-written/messages')).status}`,
)
await check('CA 3 several appends keep their order', async () => {
  const id = await session()
  for (const i of [1, 2, 3]) await imported(id, turn(i))
  same((await log(id)).length, 6, 'messages')
  same(texts(await log(id))[4], 'user: q3', 'fifth')
})
await check('CA 4 an empty append changes nothing', async () => {
  const id = await session()
  await imported(id, turn(1))
  await imported(id, [])
  same((await log(id)).length, 2, 'messages')
})
await check('CA 5 sub-keys are apart from the main one', async () => {
  const a = await session(),
    b = await session({ metadata: { parent_session: a } })
  await imported(a, turn(1))
  await imported(b, turn(2))
  same([(await log(a)).length, (await log(b)).length], [2, 2], 'logs')
  return 'as sessions with parent_session in their metadata, as the importer makes them'
})
await check(
  'CA 6 the same session id in two projects',
  async () => {
    const id = `shared-${++n}`
    await session({ id, owner: 'A' })
    const r = await call('POST', '/v1/sessions', { id, owner: 'B' })
    is(r.status === 201, `${r.status} ${r.body.type}`)
  },
  { expected: 'ids are unique in a tenant, not in an owner' },
)
await check('CA 7 list of the sessions of a project, times in milliseconds', async () => {
  const owner = `proj-${++n}`
  const a = await session({ owner }),
    b = await session({ owner })
  await session({ owner: 'other' })
  const r = ok(await call('GET', `/v1/sessions?owner=${owner}`))
  same(r.data.map((s) => s.id).toSorted(), [a, b].toSorted(), 'ids')
  is(Date.parse(r.data[0].created_at) > 1e12, r.data[0].created_at)
  same(ok(await call('GET', '/v1/sessions?owner=never')).data, [], 'unknown owner')
})
await check(
  'CA 8 the list leaves sub-agents out',
  async () => {
    const owner = `proj-${++n}`
    await session({ owner })
    await session({ owner, metadata: { parent_session: 'x' } })
    same(ok(await call('GET', `/v1/sessions?owner=${owner}`)).data.length, 1, 'sessions')
  },
  { expected: 'sub-agents that are sessions are listed like others; members of a team are in their session' },
)
await check('CA 9 delete, then load', async () => {
  const id = await session()
  await imported(id, turn(1))
  ok(await call('DELETE', `/v1/sessions/${id}`))
  is((await call('GET', `/v1/sessions/${id}`)).status === 404, 'still there')
  return `deleting what never was: ${(await call('DELETE', '/v1/sessions/never-written')).status}`
})
await check('CA 10 delete takes all that belongs to it, and nothing else', async () => {
  const id = await session(),
    other = await session()
  const r = await say(id, '!call current_time {}')
  const m = (await log(id)).find((x) => x.output)
  await say(other, 'hello')
  ok(await call('DELETE', `/v1/sessions/${id}`))
  for (const path of [`/v1/sessions/${id}/messages`, `/v1/sessions/${id}/runs/${r.id}`, m.output.url])
    is((await call('GET', path)).status === 404, path)
  for (let i = 0; i < 30; i++) {
    const found = ok(await call('GET', `/v1/search?q=current_time&session=${id}`, undefined))
    if (found.data?.length === 0) break
    await sleep(100)
  }
  same((await log(other)).length, 2, 'the other')
})
await check('CA 11 deleting a sub-key alone', async () => 'a session of its own is deleted alone')
await check('CA 14 the summary of a session is kept and changed', async () => {
  const id = await session({ title: 'first' })
  ok(await call('PATCH', `/v1/sessions/${id}`, { title: 'second' }))
  same(ok(await call('GET', `/v1/sessions/${id}`)).title, 'second', 'title')
})

// ---- Convex agent: threads and messages
await check('CX createThread, getThread; null for one that is not there', async () => {
  const id = await session({ title: 't', owner: 'u' })
  const s = ok(await call('GET', `/v1/sessions/${id}`))
  same([s.title, s.owner], ['t', 'u'], 'thread')
  same((await call('GET', '/v1/sessions/none')).status, 404, 'status')
})
await check('CX listThreadsByUserId: pages, order', async () => {
  const owner = `u-${++n}`
  const ids = []
  for (let i = 0; i < 5; i++) ids.push(await session({ owner }))
  const seen = []
  for (let after = ''; ;) {
    const p = ok(await call('GET', `/v1/sessions?owner=${owner}&limit=2${after && `&after=${after}`}`))
    seen.push(...p.data.map((s) => s.id))
    if (!p.has_more) break
    after = p.next
  }
  same(seen, [...ids].reverse(), 'newest first')
})
await check('CX updateThread: one field, several; error for one that is not there', async () => {
  const id = await session({ title: 'a', metadata: { x: '1' } })
  ok(await call('PATCH', `/v1/sessions/${id}`, { title: 'b' }))
  const s = ok(await call('GET', `/v1/sessions/${id}`))
  same([s.title, s.metadata], ['b', { x: '1' }], 'session')
  same((await call('PATCH', '/v1/sessions/none', { title: 'b' })).status, 404, 'status')
})
await check('CX deleteAllForThreadId of a long thread, followed to its end', async () => {
  const id = await session()
  for (let i = 0; i < 4; i++) await imported(id, Array.from({ length: 120 }, (_, j) => turn(i * 120 + j)).flat())
  const r = await call('DELETE', `/v1/sessions/${id}`)
  if (r.status === 202)
    for (let i = 0; i < 100; i++) {
      const d = await call('GET', r.headers.get('location'))
      if (d.body.status === 'completed' || d.status === 404) break
      await sleep(100)
    }
  same((await call('GET', `/v1/sessions/${id}`)).status, 404, 'status')
  return `${r.status} ${JSON.stringify(r.body).slice(0, 120)}`
})
await check('CX concurrent saves get places of their own', async () => {
  const id = await session()
  await Promise.all(
    Array.from({ length: 8 }, (_, i) =>
      call('POST', `/v1/sessions/${id}/messages`, { content: `c${i}` }, { prefer: 'respond-async' }),
    ),
  )
  for (let i = 0; i < 100; i++) {
    if ((await log(id)).length === 16) break
    await sleep(100)
  }
  const l = await log(id)
  same(l.length, 16, 'messages')
  same(new Set(l.map((m) => m.id)).size, 16, 'ids')
  same(
    l.map((m) => m.role),
    Array.from({ length: 16 }, (_, i) => (i % 2 ? 'assistant' : 'user')),
    'each input with its answer',
  )
})
await check(
  'CX updateMessage',
  async () => {
    const id = await convo()
    const [m] = await log(id)
    ok(await call('PATCH', `/v1/sessions/${id}/messages/${m.id}`, { content: 'x' }), 200)
  },
  { expected: NEVER },
)
await check(
  'CX deleteByIds',
  async () => {
    const id = await convo()
    const [m] = await log(id)
    ok(await call('DELETE', `/v1/sessions/${id}/messages/${m.id}`), 200, 204)
  },
  { expected: NEVER },
)
await check('CX textSearch over threads of one user alone', async () => {
  const word = `zebra${++n}`,
    a = await session({ owner: 'ann' }),
    b = await session({ owner: 'bob' })
  await say(a, `a ${word} here`)
  await say(b, `a ${word} there`)
  let found
  for (let i = 0; i < 40; i++) {
    found = ok(await call('GET', `/v1/search?q=${word}&owner=ann&role=user`)).data
    if (found.length) break
    await sleep(100)
  }
  same(
    found.map((h) => h.session_id),
    [a],
    'sessions',
  )
})
await check('CX a completion that breaks off is not left as pending', async () => {
  const id = await session()
  const r = await say(id, '!fail')
  same(
    [r.status, (await log(id)).some((m) => m.status === 'pending' || m.status === 'running')],
    ['failed', false],
    'state',
  )
})
await finish('persistence-sessions', served.stop, model.close)
