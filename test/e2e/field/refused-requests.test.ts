import { beforeEach, describe, expect, test } from 'vitest'
import { makeTool } from '../../agent/harness.ts'
import { withPolicies } from '../backend/in-process.ts'
import { calling, declareFourWires, saying } from './four-wires.ts'
import type { WireBody } from './wire-body.ts'
import { WIRES } from './wires.ts'

const wires = declareFourWires({
  tools: [makeTool('look-up', async () => ({ text: 'found' }))],
  change: (agent) => ({ ...agent, policies: withPolicies({ consolidation: false }) }),
})
beforeEach(() => wires.refuse(() => undefined))

const PIXEL = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
const withImage = (text: string) => [
  { type: 'text', text },
  { type: 'image', data: PIXEL, media_type: 'image/png' },
]
const isNarrow = ({ calls, tools }: WireBody): boolean =>
  [...calls.flatMap(({ id, name }) => [id, name]), ...tools].every((name) => /^[a-zA-Z0-9_]{1,40}$/.test(name))

describe.each(WIRES)('on %s', (wire) => {
  test(`field/01/refused-until-narrow · ${wire} · sqlite: the refused request is repeated with narrow names, and later requests keep them`, async () => {
    const session = await wires.newSession(wire)
    wires.play(calling('look-up', { id: 'call-1' }), saying('done'))
    wires.refuse((body, index) => (index === 0 || isNarrow(body) ? undefined : 'tools.0.name: invalid'))
    const first = await wires.ask(session, 'go')
    expect([first.error, first.status]).toEqual([null, 'completed'])
    const refused = wires.requests()[1]
    const repaired = wires.requests().at(-1)
    expect([refused, repaired].map((body) => body !== undefined && isNarrow(body))).toEqual([false, true])
    expect(repaired?.calls.map(({ id }) => id)).toEqual(repaired?.results)
    // Later requests have narrow names from the start, and the log has the tool's own name.
    wires.play(calling(repaired?.tools[0] ?? ''), saying('again'))
    expect((await wires.ask(session, 'once more')).status).toBe('completed')
    expect(wires.requests().map(isNarrow)).toEqual([true, true])
    const results = (await wires.client.messages(session)).filter(({ role }) => role === 'tool')
    expect(results.map(({ tool_name: name, status }) => [name, status])).toEqual(
      Array(2).fill(['look-up', 'completed']),
    )
  })

  test(`field/01/imported-repeated-ids · ${wire} · sqlite: the refused request is repeated with unique call ids`, async () => {
    const session = await wires.newSession(wire)
    const messages = ['one', 'two', 'three'].flatMap((content) => [
      { role: 'user', content },
      {
        role: 'assistant',
        tool_calls: [{ id: '0', type: 'function', function: { name: 'fs.read', arguments: '{}' } }],
      },
      { role: 'tool', tool_call_id: '0', content: 'read' },
    ])
    await wires.client.post(`/v1/sessions/${session}/import`, { format: 'openai', messages })
    const hasRepeated = ({ calls }: WireBody): boolean => new Set(calls.map(({ id }) => id)).size < calls.length
    wires.play(saying('done'))
    wires.refuse((body) => (hasRepeated(body) ? 'tool call ids must be unique' : undefined))
    expect(await wires.ask(session, 'go')).toMatchObject({ status: 'completed', error: null })
    // The accepted form of the request still contains every message.
    expect(wires.requests().at(-1)?.calls).toHaveLength(3)
    expect(wires.requests().at(-1)?.text).toContain('one')
  })

  test(`field/24/refused-until-without-reasoning · ${wire} · sqlite: the refused request is repeated without reasoning`, async () => {
    const session = await wires.newSession(wire)
    const thinking = { type: 'reasoning', text: 'hm', signature: 'c2lnMQ==' } as const
    const call = { type: 'tool_call', id: 'call_1', name: 'look-up', arguments: '{}' } as const
    wires.play({ parts: [thinking, call] }, saying('two'), saying('three'))
    wires.refuse(({ reasoning }) => (reasoning.length > 0 ? { status: 422, message: 'extra inputs' } : undefined))
    for (const turn of ['the first input', 'the second'])
      expect(await wires.ask(session, turn)).toMatchObject({ status: 'completed', error: null })
    expect(wires.requests().map(({ reasoning }) => reasoning.length)).toEqual([0, 1, 0, 0])
    expect(wires.requests().at(-1)?.text).toContain('the first input')
  })

  test(`field/01/too-large-until-without-media · ${wire} · sqlite: after a smaller request is refused, the image is omitted`, async () => {
    const session = await wires.newSession(wire)
    wires.play(saying('fine'), saying('a dot'), saying('on'))
    expect(await wires.ask(session, 'the first input')).toMatchObject({ status: 'completed', error: null })
    wires.refuse(({ hasMedia }) => (hasMedia ? { status: 413, message: 'Request Entity Too Large' } : undefined))
    expect(await wires.ask(session, withImage('look'))).toMatchObject({ status: 'completed', error: null })
    // The requests are the whole request, a smaller request, and then other forms of the whole request. The last form has no
    // image.
    const [, ...asked] = wires.requests()
    expect(asked.map(({ text }) => text.includes('the first input'))).toEqual(asked.map((_, index) => index !== 1))
    expect(asked.map(({ hasMedia }) => hasMedia)).toEqual(asked.map((_, index) => index < asked.length - 1))
    expect(asked.length).toBeLessThanOrEqual(6)
  })

  test(`field/01/refused-until-without-media · ${wire} · sqlite: the refused request is repeated without its image`, async () => {
    const session = await wires.newSession(wire)
    wires.play(saying('a dot'))
    wires.refuse(({ hasMedia }) => (hasMedia ? 'this model has no eyes' : undefined))
    expect(await wires.ask(session, withImage('look'))).toMatchObject({ status: 'completed', error: null })
    const asked = wires.requests()
    expect(asked.map(({ hasMedia }) => hasMedia)).toEqual(asked.map((_, index) => index < asked.length - 1))
    expect(asked.at(-1)?.text).toContain('(image/png) cannot be shown here]')
  })

  test(`field/01/refused-in-every-form · ${wire} · sqlite: the run fails, and later runs omit the refused message`, async () => {
    const session = await wires.newSession(wire)
    wires.play(calling('look-up', { id: 'call-1' }), saying('done'), saying('fine'), saying('on'))
    await wires.ask(session, 'go')
    wires.refuse(({ text }) => (text.includes('poison') ? 'messages: bad content' : undefined))
    const refused = await wires.ask(session, withImage('poison'))
    const named = (await wires.client.messages(session)).find(({ parts }) => JSON.stringify(parts).includes('poison'))
    expect(refused).toMatchObject({ status: 'failed', error: { code: 'invalid_request' } })
    expect(refused.error?.message).toContain(named?.id ?? '?')
    // The requests are the usual form, a smaller request, and at most four other forms.
    expect(wires.requests().length - 2).toBeLessThanOrEqual(6)
    for (const turn of ['hello', 'and on'])
      expect(await wires.ask(session, turn)).toMatchObject({ status: 'completed' })
    expect(wires.requests().at(-1)?.text).toContain('the model did not accept it')
  })

  test(`field/01/refused-for-a-while · ${wire} · sqlite: after the refusals end, requests are complete again`, async () => {
    const session = await wires.newSession(wire)
    wires.play(saying('one'), saying('two'))
    expect((await wires.ask(session, 'the first input')).status).toBe('completed')
    wires.refuse(() => 'temperature is not supported')
    for (const turn of ['second', 'third', 'fourth']) expect((await wires.ask(session, turn)).status).toBe('failed')
    wires.refuse(() => undefined)
    expect((await wires.ask(session, 'fifth')).status).toBe('completed')
    // Repairs without effect are undone: requests are complete after the settings are corrected.
    for (const input of ['the first input', 'second', 'third', 'fourth', 'fifth'])
      expect(wires.requests().at(-1)?.text).toContain(input)
  })
})
