import { beforeEach, describe, expect, test } from 'vitest'
import { makeTool } from '../../agent/harness.ts'
import { calling, declareFourWires, saying } from './four-wires.ts'
import { WIRES } from './wires.ts'
import type { Wire } from './wires.ts'
import { refusalOfNames } from './wire-body.ts'

const wires = declareFourWires({ tools: [makeTool('team.lookup', async () => ({ text: 'found' }))] })
beforeEach(() => wires.refuse(refusalOfNames))

interface LoggedCall {
  readonly id: string
  readonly function: { readonly name: string; readonly original_name?: string }
}

/**
 * Checks that two runs complete, and that the log and `format=openai` show the call with its original name. On the `chat`
 * wire, also checks the call in the next request, and the original name in search hits.
 */
async function expectUsable(wire: Wire, given: string, id = 'call_1'): Promise<void> {
  const name = given.toWellFormed()
  wires.play(calling(given, { id, arguments: '{"needle":"zebra"}' }), saying('no such tool'), saying('hello'))
  const session = await wires.newSession(wire)
  const [first, second] = [await wires.ask(session, 'go'), await wires.ask(session, 'and now?')]
  expect([first.error, first.status, second.error, second.status]).toEqual([null, 'completed', null, 'completed'])
  expect(wires.requests()).toHaveLength(3)
  const asked = (await wires.client.messages(session)).find(({ tool_calls: calls }) => calls !== undefined)
  expect(asked?.tool_calls).toMatchObject([{ name }])
  const chat = await wires.client.chat(session)
  const [shown] = chat.flatMap((one) => (one.role === 'assistant' ? ((one.tool_calls ?? []) as LoggedCall[]) : []))
  expect(shown?.function.name).toMatch(/^[a-zA-Z0-9_-]{1,64}$/)
  expect(shown?.function.original_name).toBe(shown?.function.name === name ? undefined : name)
  if (wire !== 'chat') return
  expect(wires.requests()[1]?.calls).toEqual([{ id: shown?.id, name: shown?.function.name }])
  const { data } = await wires.client.get<{ data: { tool_name?: string }[] }>(`/v1/search?q=zebra&session=${session}`)
  expect(data.map((hit) => hit.tool_name)).toContain(name)
}

describe.each(WIRES)('on %s', (wire) => {
  test.each([
    ['dots', 'browser.tabs.open'],
    ['dollar', '$LOOKUP'],
    ['200-characters', 'x'.repeat(200)],
    ['other-script', '検索する'],
    ['template', 'current_time<|channel|>commentary'],
  ])(`field/01/%s · ${wire} · sqlite: the session stays usable after a call with this tool name`, (_, name) =>
    expectUsable(wire, name),
  )

  test.each([
    ['id-with-signs', 'functions.lookup:0'],
    ['id-of-120', `call_${'a1'.repeat(58)}__`],
    ['id-of-another-alphabet', 'Aufruf Nr. ä/1'],
  ])(`field/01/%s · ${wire} · sqlite: the session stays usable after a call with this id`, (_, id) =>
    expectUsable(wire, 'no_such_tool', id),
  )

  test(`field/01/names-that-are-nearly-equal · ${wire} · sqlite: the tools keep four different names`, async () => {
    const odd = ['a.b', 'a b', 'a_b', 'a-b'].map(
      (name, index) => ({ type: 'tool_call', id: `call_${index}`, name, arguments: '{}' }) as const,
    )
    wires.play({ parts: odd }, saying('done'))
    expect((await wires.ask(await wires.newSession(wire), 'go')).status).toBe('completed')
    const sent = wires.requests()[1]?.calls.map(({ name }) => name)
    expect(new Set(sent).size).toBe(4)
    expect(sent?.slice(2)).toEqual(['a_b', 'a-b'])
  })

  test(`field/01/declared-tool · ${wire} · sqlite: a call under the provider-side name of a tool executes that tool`, async () => {
    const session = await wires.newSession(wire)
    wires.play(saying('hello'))
    await wires.ask(session, 'hello')
    const [declared = ''] = wires.requests()[0]?.tools ?? []
    wires.play(calling(declared), saying('done'))
    expect((await wires.ask(session, 'look it up')).status).toBe('completed')
    const results = (await wires.client.messages(session)).filter(({ role }) => role === 'tool')
    expect(results).toMatchObject([{ tool_name: 'team.lookup', status: 'completed', parts: [{ text: 'found' }] }])
  })

  test(`field/01/imported · ${wire} · sqlite: a session with imported odd names and ids continues`, async () => {
    const call = (id: string, name: string) => ({ id, type: 'function', function: { name, arguments: '{}' } })
    const calls = [call('toolu bdrk/01', 'mcp.github/search'), call('x'.repeat(90), ''), call('', 'x y')]
    const messages = [
      { role: 'user', content: 'find it' },
      { role: 'assistant', content: null, tool_calls: calls },
      ...calls.map(({ id }) => ({ role: 'tool', tool_call_id: id, content: 'ok' })),
      { role: 'assistant', content: 'found' },
    ]
    const session = await wires.newSession(wire)
    await wires.client.post(`/v1/sessions/${session}/import`, { format: 'openai', messages })
    wires.play(saying('yes'))
    const run = await wires.ask(session, 'is it there?')
    expect([run.error, run.status]).toEqual([null, 'completed'])
    expect(wires.requests()).toHaveLength(1)
    expect(new Set(wires.requests()[0]?.calls.map(({ name }) => name)).size).toBe(3)
  })
})
