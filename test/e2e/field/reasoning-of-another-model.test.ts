import { beforeEach, describe, expect, test } from 'vitest'
import type { ScriptedCompletion } from '../../model-server/scripted-completion.ts'
import { testAgent } from '../backend/in-process.ts'
import { declareFourWires, providerOf, saying } from './four-wires.ts'
import { WIRES } from './wires.ts'
import type { Wire } from './wires.ts'

const newer = (wire: Wire): string => `${providerOf(wire).model}-newer`
const wires = declareFourWires({
  agents: WIRES.map((wire) => testAgent({ name: `${wire}-newer`, model: newer(wire) })),
})
beforeEach(() => wires.refuse(() => undefined))

const thinking = (text: string, signature: string): ScriptedCompletion => ({
  parts: [
    { type: 'reasoning', text, signature },
    { type: 'text', text: `answer after ${text}` },
  ],
})

/** Executes one turn with each of these agents. Returns the reasoning in each request. */
async function reasoningSent(...agents: readonly string[]): Promise<(readonly string[])[]> {
  wires.play(...agents.map((_, turn) => thinking(`thought-${turn}`, Buffer.from(`by ${turn}`).toString('base64'))))
  const session = await wires.newSession(agents[0] ?? '')
  for (const agent of agents) {
    await wires.client.send('PATCH', `/v1/sessions/${session}`, { agent })
    expect(await wires.ask(session, 'go')).toMatchObject({ status: 'completed', error: null })
  }
  return wires.requests().map(({ reasoning }) => reasoning)
}

describe.each(WIRES)('on %s', (wire) => {
  const sign = (turn: number): string =>
    wire === 'chat' ? `thought-${turn}` : Buffer.from(`by ${turn}`).toString('base64')

  test(`field/24/newer-and-back · ${wire} · sqlite: each model gets only its own reasoning`, async () => {
    const sent = await reasoningSent(wire, wire, `${wire}-newer`, `${wire}-newer`, wire)
    expect(sent).toEqual([[], [sign(0)], [], [sign(2)], [sign(0), sign(1)]])
  })

  test(`field/24/another-provider · ${wire} · sqlite: the reasoning of another provider is not sent`, async () => {
    const other = wire === 'chat' ? 'messages' : 'chat'
    expect(await reasoningSent(other, wire, wire)).toEqual([[], [], [sign(1)]])
  })
})

test('field/24/named-with-a-date · messages · sqlite: reasoning is sent back although the provider adds a date to the model name', async () => {
  // The provider adds a date to the model's name. The model is still the same, so its reasoning is sent back.
  wires.name((model) => `${model}-20260101`)
  expect((await reasoningSent('messages', 'messages')).map(({ length }) => length)).toEqual([0, 1])
  wires.name((model) => `chosen/by-a-router-${model.length}`)
  expect((await reasoningSent('chat', 'chat')).map(({ length }) => length)).toEqual([0, 1])
  wires.name((model) => model)
})

test('field/24/shown-as-sent · chat · sqlite: the context shows reasoning only if it would be sent', async () => {
  const session = await wires.newSession('chat')
  wires.play(thinking('one', 'c2ln'), saying('two'))
  await wires.ask(session, 'go')
  const shown = async (): Promise<string> => JSON.stringify(await wires.client.chat(session))
  expect(await shown()).toContain('"reasoning_content":"one"')
  await wires.client.send('PATCH', `/v1/sessions/${session}`, { agent: 'chat-newer' })
  expect(await shown()).not.toContain('reasoning_content')
})
