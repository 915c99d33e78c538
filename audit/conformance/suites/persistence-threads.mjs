/*
 * Scenarios of LangGraph's checkpoint conformance suite (LG), over HTTP. LangGraph's interface differs from ours, so
 * each check repeats only what a scenario tests.
 */
import { call, ok, session, say, log, texts, imported, NEVER, useApi } from '../lib/api.mjs'
import { check, finish, is, same } from '../lib/checks.mjs'
import { scriptedModel } from '../lib/model.mjs'

import { program } from '../lib/program.mjs'

const model = await scriptedModel()
const served = await program({ model })
useApi(served.base)
let n = 0

// ---- LangGraph: checkpoint conformance
const convo = async () => {
  const id = await session({ metadata: { a: '1' } })
  await say(id, 'one')
  await say(id, '!call current_time {}')
  await say(id, 'three')
  return id
}
await check(
  'LG put: round trip without alteration (unicode, null bytes refused or kept, nested arguments)',
  async () => {
    const id = await session()
    const odd = 'é 漢字 \u{1F600} \u2028 \\u0000 "quotes" \t'
    const args = '{"a": {"b": [1, 2.50, null, "é"]}, "z": 1e400}'
    await imported(id, [
      { role: 'user', content: odd },
      {
        role: 'assistant',
        content: null,
        tool_calls: [{ id: 'c1', type: 'function', function: { name: 't', arguments: args } }],
      },
      { role: 'tool', tool_call_id: 'c1', content: odd },
    ])
    const l = await log(id)
    same(l[0].parts[0].text, odd, 'text')
    same(l[1].tool_calls[0].arguments, args, 'arguments')
    same(l[2].parts[0].text, odd, 'result')
  },
)
await check('LG put: metadata', async () => {
  const id = await session({ metadata: { k: 'v', n: { deep: [1] } } })
  same(ok(await call('GET', `/v1/sessions/${id}`)).metadata, { k: 'v', n: { deep: [1] } }, 'metadata')
})
await check('LG put: several threads are isolated', async () => {
  const a = await convo(),
    b = await session()
  await say(b, 'x')
  same((await log(b)).length, 2, 'messages')
  same(new Set((await log(a)).map((m) => m.session_id)).size, 1, 'sessions')
})
await check('LG put: the run id is kept', async () => {
  const id = await session()
  const r = await say(id, 'x')
  is(
    (await log(id)).every((m) => m.run_id === r.id),
    'run ids',
  )
})
await check('LG get_tuple: latest when none is named', async () => {
  const id = await convo()
  const s = ok(await call('GET', `/v1/sessions/${id}`))
  is(s.run, JSON.stringify(s).slice(0, 200))
  return s.run.status
})
await check('LG get_tuple: one that is named, and one that is not there', async () => {
  const id = await convo()
  const [run] = ok(await call('GET', `/v1/sessions/${id}/runs`)).data
  same(ok(await call('GET', `/v1/sessions/${id}/runs/${run.id}`)).id, run.id, 'run')
  return (await call('GET', `/v1/sessions/${id}/runs/01JD2Q8N4T6W8Y0A2C4E6G8J0K`)).status
})
await check('LG get_tuple: state as it was at an earlier point', async () => {
  const id = await convo()
  const l = await log(id)
  const f = ok(await call('POST', `/v1/sessions/${id}/fork`, { through: l[1].id }))
  same((await log(f.id)).length, 2, 'messages of the copy')
  return 'by a fork that ends there'
})
await check('LG get_tuple: pending writes (a call that waits)', async () => {
  const id = await session()
  const r = await say(id, '!call ask {}', {
    tools: [{ name: 'ask', description: 'x', parameters: { type: 'object' } }],
  })
  same(r.status, 'paused', 'status')
  same(ok(await call('GET', `/v1/sessions/${id}/runs/${r.id}`)).waiting.length, 1, 'waiting')
})
await check('LG list: by thread, ordering, limit, before', async () => {
  const id = await convo()
  const all = await log(id, '&order=desc')
  same(
    all.map((m) => m.id),
    [...all.map((m) => m.id)].sort().reverse(),
    'order',
  )
  const p = ok(await call('GET', `/v1/sessions/${id}/messages?limit=2&order=desc`))
  const q = ok(await call('GET', `/v1/sessions/${id}/messages?limit=2&order=desc&after=${p.next}`))
  same(
    [...p.data, ...q.data].map((m) => m.id),
    all.slice(0, 4).map((m) => m.id),
    'pages',
  )
})
await check('LG list: filter by metadata', async () => {
  const id = await session({ metadata: { kind: 'odd' } })
  const r = ok(await call('GET', '/v1/sessions?metadata.kind=odd'))
  same(
    r.data.map((one) => one.id),
    [id],
    'sessions',
  )
})
await check('LG list: an empty result', async () =>
  same(ok(await call('GET', '/v1/sessions?owner=nobody-at-all')).data, [], 'list'),
)
await check('LG put_writes: idempotent', async () => {
  const id = await session()
  const h = { 'idempotency-key': `k-${++n}` }
  const a = await say(id, 'x', {}, h),
    b = await say(id, 'x', {}, h)
  same(a.id, b.id, 'run')
  same((await log(id)).length, 2, 'messages')
})
await check('LG put_writes: results of several tasks keep their call, whatever their order', async () => {
  const id = await session()
  const r = await say(id, '!call ask {"n": 1}\n!call ask {"n": 2}', {
    tools: [{ name: 'ask', description: 'x', parameters: { type: 'object' } }],
  })
  const [a, b] = r.waiting
  ok(
    await call('POST', `/v1/sessions/${id}/runs/${r.id}/tool-results`, {
      results: [{ tool_call_id: b.tool_call_id, message_id: b.message_id, output: 'second' }],
    }),
  )
  const e = ok(
    await call('POST', `/v1/sessions/${id}/runs/${r.id}/tool-results`, {
      results: [{ tool_call_id: a.tool_call_id, message_id: a.message_id, output: 'first' }],
    }),
  )
  same(e.status, 'completed', 'status')
  const l = await log(id)
  same(
    l.filter((m) => m.role === 'tool').map((m) => m.parts[0].text),
    ['first', 'second'],
    'results in the order of the calls',
  )
})
await check('LG put_writes: the same write again changes nothing, another one is refused', async () => {
  const id = await session()
  const r = await say(id, '!call ask {}\n!call ask {"n": 2}', {
    tools: [{ name: 'ask', description: 'x', parameters: { type: 'object' } }],
  })
  const send = (output) =>
    call('POST', `/v1/sessions/${id}/runs/${r.id}/tool-results`, {
      results: [{ message_id: r.waiting[0].message_id, tool_call_id: r.waiting[0].tool_call_id, output }],
    })
  ok(await send('x'))
  ok(await send('x'))
  same((await send('y')).status, 409, 'status')
})
await check('LG copy_thread: all of it, metadata, order; the source is unchanged', async () => {
  const id = await convo(),
    before = await log(id)
  const f = ok(await call('POST', `/v1/sessions/${id}/fork`, {}))
  same(texts(await log(f.id)), texts(before), 'copy')
  same(await log(id), before, 'source')
  same(f.metadata, { a: '1' }, 'metadata')
  await say(f.id, 'more')
  same((await log(id)).length, before.length, 'source after a turn in the copy')
})
await check('LG copy_thread: a source that is not there', async () => {
  const r = await call('POST', '/v1/sessions/nope/fork', {})
  same(r.status, 404, 'status')
})
await check(
  'LG delete_for_runs',
  async () => {
    const id = await convo()
    const [run] = ok(await call('GET', `/v1/sessions/${id}/runs`)).data
    ok(await call('DELETE', `/v1/sessions/${id}/runs/${run.id}`), 200, 202, 204)
  },
  { expected: NEVER },
)
await check('LG delete_thread: others stay; one that is not there', async () => {
  const a = await convo(),
    b = await convo()
  ok(await call('DELETE', `/v1/sessions/${a}`))
  same((await log(b)).length > 0, true, 'other')
  return (await call('DELETE', `/v1/sessions/${a}`)).status
})
await check(
  'LG prune: keep the latest',
  async () => {
    const id = await convo()
    const r = await call('POST', `/v1/sessions/${id}/prune`, { strategy: 'keep_latest' })
    is(r.status < 300, `${r.status}`)
  },
  { expected: 'nothing is pruned: consolidation changes what a model is sent, ttl_days removes whole sessions' },
)
await check('LG replay: a run goes on after a failure without its input again', async () => {
  const id = await session()
  const r = await say(id, '!fail')
  same(r.status, 'failed', 'status')
  const c = ok(await call('POST', `/v1/sessions/${id}/continue`, {}))
  return c.status
})
await finish('persistence-threads', served.stop, model.close)
