/* Evidence, clients: A client that sends its whole history without a session id continues in one session. */
import type OpenAI from 'openai'
import { afterEach, describe, expect, test } from 'vitest'
import { sha256 } from '../../../../functions/domain/hash.ts'
import { makeTool } from '../../../agent/harness.ts'
import { expectJson, heldTurn, openHttpHarness } from '../../harness.ts'
import type { HttpHarness } from '../../harness.ts'
import { openAiClient, refusal } from '../openai-client.ts'

type Messages = OpenAI.ChatCompletionMessageParam[]

let harness: HttpHarness
afterEach(() => harness.close())

type Options = NonNullable<Parameters<typeof openHttpHarness>[0]>
async function open(options: Options = {}): Promise<OpenAI> {
  harness = await openHttpHarness(options)
  return openAiClient(harness)
}

const sessions = async (): Promise<Record<string, unknown>[]> =>
  (await expectJson<{ data: Record<string, unknown>[] }>(harness, 200, 'GET', '/v1/sessions')).data
const texts = async (session: string): Promise<unknown[]> => {
  const { data } = await expectJson<{ data: { parts: { text?: string }[] }[] }>(
    harness,
    200,
    'GET',
    `/v1/sessions/${session}/messages?limit=100`,
  )
  return data.map(({ parts }) => parts[0]?.text)
}
const only = async (): Promise<string> => {
  const all = await sessions()
  expect(all).toHaveLength(1)
  return String(all[0]?.['id'])
}

/** A client that keeps its history and sends no session. */
function createPage(client: OpenAI, more: Partial<OpenAI.ChatCompletionCreateParamsNonStreaming> = {}) {
  const messages: Messages = [{ role: 'system', content: 'Be kind.' }]
  return {
    messages,
    async say(content: string, isStreamed = false): Promise<void> {
      messages.push({ role: 'user', content })
      const body = { model: 'default', messages, ...more }
      const whole = isStreamed
        ? await client.chat.completions.stream({ ...body, stream: true }).finalChatCompletion()
        : await client.chat.completions.create(body)
      const message = whole.choices[0]?.message
      if (message === undefined) throw new Error('no message')
      messages.push(message)
    },
  }
}

describe('a client that sends its history without a session id', () => {
  test.each([false, true])('stays in one session: stream %j', async (isStreamed) => {
    const client = await open({
      tools: [makeTool('look', async () => ({ text: 'seen' }))],
      script: [
        { text: 'Let me look.', calls: [{ name: 'look' }] },
        { text: 'Here.' },
        { text: 'Two.' },
        { text: 'Three.' },
      ],
    })
    const page = createPage(client)
    for (const said of ['One?', 'Two?', 'Three?']) await page.say(said, isStreamed)
    expect(await texts(await only())).toEqual([
      'One?',
      'Let me look.',
      'seen',
      'Here.',
      'Two?',
      'Two.',
      'Three?',
      'Three.',
    ])
  })

  test.each([
    ['as they were sent', '{"city":"Bonn","days":2}'],
    ['written anew, as LangChain does', '{"city": "Bonn", "days": 2}'],
  ])('continues one session through calls of its tools, with the arguments %s', async (_how, written) => {
    const call = { id: 'c1', name: 'weather', arguments: '{"city":"Bonn","days":2}' }
    const client = await open({ script: [{ calls: [call] }, { text: 'It rains.' }, { text: 'Bye.' }] })
    const weather = {
      type: 'function',
      function: { name: 'weather', parameters: { type: 'object', properties: {} } },
    } as const
    const page = createPage(client, { tools: [weather] })
    await page.say('Weather?')
    const again = { id: 'c1', type: 'function' as const, function: { name: 'weather', arguments: written } }
    page.messages.splice(-1, 1, { role: 'assistant', content: null, tool_calls: [again] })
    page.messages.push({ role: 'tool', tool_call_id: 'c1', content: 'rain' })
    const body = { model: 'default', messages: page.messages, tools: [weather] }
    const answered = await client.chat.completions.create(body)
    expect(answered.choices[0]?.message.content).toBe('It rains.')
    page.messages.push({ role: 'assistant', content: 'It rains.' })
    await page.say('Bye')
    expect(await texts(await only())).toEqual(['Weather?', undefined, 'rain', 'It rains.', 'Bye', 'Bye.'])
  })

  test('gets a new session, without foreign messages, if another client continued its session', async () => {
    const client = await open({ script: ['One.', 'Elsewhere.', 'Two.', 'Three.'].map((text) => ({ text })) })
    const page = createPage(client)
    await page.say('One?')
    const first = await only()
    await expectJson(harness, 200, 'POST', `/v1/sessions/${first}/messages`, { content: 'By the way' })
    await page.say('Two?')
    await page.say('Three?')
    const other = (await sessions()).map(({ id }) => String(id)).find((id) => id !== first)
    expect(await texts(first)).toEqual(['One?', 'One.', 'By the way', 'Elsewhere.'])
    expect(await texts(other ?? '')).toEqual(['One?', 'One.', 'Two?', 'Two.', 'Three?', 'Three.'])
    expect(await sessions()).toHaveLength(2)
  })

  test('gets a new session after an import, and for another branch of its history', async () => {
    const client = await open({ script: [{ text: 'One.' }] })
    const page = createPage(client)
    await page.say('One?')
    const branch = createPage(client)
    branch.messages.push(...page.messages.slice(1))
    await expectJson(harness, 200, 'POST', `/v1/sessions/${await only()}/import`, {
      format: 'openai',
      messages: [{ role: 'user', content: 'Elsewhere' }],
    })
    await page.say('Two?')
    await branch.say('Or two?')
    expect(await sessions()).toHaveLength(3)
  })

  test('is distinct from other clients whose history starts with equal messages', async () => {
    const client = await open({ script: Array.from({ length: 8 }, () => ({ text: 'Hello.' })) })
    const { authorization } = await harness.key({})
    const other = openAiClient(harness, { apiKey: authorization.slice('Bearer '.length) })
    const third = openAiClient(harness, { apiKey: (await harness.key({})).authorization.slice('Bearer '.length) })
    void client
    const pages = [
      createPage(other, { user: 'ann' }),
      createPage(other, { user: 'bob' }),
      createPage(third, { user: 'ann' }),
    ]
    for (const page of pages) await page.say('Hi')
    for (const page of pages) await page.say('Again')
    const listed = await expectJson<{ data: unknown[] }>(harness, 200, 'GET', '/v1/sessions', undefined, {
      authorization,
    })
    expect(listed.data).toHaveLength(3)
  })

  test('continues the session once when it repeats a request whose run is in progress', async () => {
    const held = heldTurn()
    const client = await open({ script: [{ text: 'One.' }, held.turn] })
    const page = createPage(client)
    await page.say('One?')
    const body = {
      model: 'default',
      stream: true as const,
      messages: [...page.messages, { role: 'user' as const, content: 'Two?' }],
    }
    for await (const _ of await client.chat.completions.create(body)) break
    const again = await client.chat.completions.create(body, { headers: { 'x-stainless-retry-count': '1' } })
    held.letGo()
    let text = ''
    for await (const chunk of again) text += chunk.choices[0]?.delta.content ?? ''
    expect(text).toBe('thinking')
    expect(await texts(await only())).toEqual(['One?', 'One.', 'Two?', 'thinking'])
  })

  test('gets its first run when it repeats an idempotency key later', async () => {
    const client = await open()
    const page = createPage(client)
    await page.say('One?')
    const messages: Messages = [...page.messages, { role: 'user', content: 'Two?' }]
    const headers = { 'idempotency-key': 'order-1' }
    const body = { model: 'default', messages }
    const made = await client.chat.completions.create(body, { headers })
    await page.say('Something else')
    expect((await client.chat.completions.create(body, { headers })).id).toBe(made.id)
  })

  test('may name an existing session, whatever part of the history it sends', async () => {
    const client = await open({ script: [{ text: 'One.' }, { text: 'Two.' }, { text: 'Three.' }] })
    const rest: Messages = [
      { role: 'tool', tool_call_id: 'cut', content: 'off' },
      { role: 'assistant', content: 'One.' },
    ]
    const headers = { 'x-session-id': 'mine' }
    const create = (messages: Messages) => client.chat.completions.create({ model: 'default', messages }, { headers })
    const two: Messages = [...rest, { role: 'user', content: 'Two?' }]
    expect((await refusal(create(two))).param).toBe('messages[0].tool_call_id')
    expect(await sessions()).toEqual([])
    await create([{ role: 'user', content: 'One?' }])
    await create(two)
    expect(await texts('mine')).toEqual(['One?', 'One.', 'Two?', 'Two.'])
  })

  const written: [string, string, (text: string) => string][] = [
    ['trimmed', '\nfine\n', (text) => text.trim()],
    ['with other line ends', 'one\r\ntwo', (text) => text.replaceAll('\r\n', '\n')],
    ['in another Unicode form', 'cafe\u0301', (text) => text.normalize('NFC')],
    ['reflowed', 'one two\nthree four', (text) => text.replaceAll(/\s/g, '\n')],
    ['field/18/without-reasoning-in-tags', '<think>\nWell.\n</think>\n\nfine', () => 'fine'],
    [
      'field/18/decomposed-and-wrapped',
      'é fine answer, of some words',
      (text) => text.normalize('NFD').replace(', ', ',\n  '),
    ],
    ['without the reasoning before a closing tag', 'Well.</think>fine', () => 'fine'],
  ]
  test.each(written)('stays in one session over Chat Completions, with the text %s', async (_how, text, change) => {
    await open({ script: Array.from({ length: 4 }, () => ({ text })) })
    const messages: object[] = []
    for (let turn = 0; turn < 4; turn++) {
      messages.push({ role: 'user', content: turn === 0 ? ' Hi\r\n' : `more ${turn}` })
      const body = await expectJson<{ choices: { message: { content: string } }[] }>(
        harness,
        200,
        'POST',
        '/openai/v1/chat/completions',
        { model: 'default', messages },
      )
      messages.push({ role: 'assistant', content: change(body.choices[0]?.message.content ?? '') })
      messages[0] = { role: 'user', content: 'Hi' }
    }
    expect(await texts(await only())).toEqual([' Hi\r\n', text, 'more 1', text, 'more 2', text, 'more 3', text])
  })

  test.each(written)('stays in one session over Responses, with the text %s', async (_how, text, change) => {
    await open({ script: Array.from({ length: 3 }, () => ({ text })) })
    const input: object[] = []
    for (let turn = 0; turn < 3; turn++) {
      input.push({ role: 'user', content: [{ type: 'input_text', text: `more ${turn}` }] })
      const request = { model: 'default', input, store: false }
      const { output } = await expectJson<{ output: { content: { text: string }[] }[] }>(
        harness,
        200,
        'POST',
        '/openai/v1/responses',
        request,
      )
      const shown = change(output[0]?.content[0]?.text ?? '')
      const item = { ...output[0], content: [{ type: 'output_text', text: shown, annotations: [] }] }
      input.push(turn === 0 ? item : { role: 'assistant', content: shown })
    }
    await only()
  })

  test('continues a session that an earlier version of the program recorded with the exact text', async () => {
    const client = await open({ script: [{ text: 'One  two.' }, { text: 'Three.' }] })
    const page = createPage(client)
    await page.say('One?')
    const session = await only()
    const { names, reader } = harness.ports
    const key = { tenant: 'default', session }
    const { messages } = await reader.messages(key, { order: 'descending', limit: 1 })
    const about = { run: messages[0]?.runId ?? '', last: messages[0]?.id ?? '' }
    const shown = [
      ['user', ['Before?']],
      ['assistant', ['One  two.'], []],
    ]
    const scope = JSON.stringify([null, null, 'default', null])
    await names.give(key, `history ${sha256(JSON.stringify([scope, shown]))}`, about)
    page.messages.splice(1, 1, { role: 'user', content: 'Before?' })
    await page.say('Next')
    expect(await texts(await only())).toEqual(['One?', 'One  two.', 'Next', 'Three.'])
  })

  test.each(['items', 'text'])('stays in one session over Responses if it repeats outputs as %s', async (kind) => {
    const client = await open({
      tools: [makeTool('look', async () => ({ text: 'seen' }))],
      script: [{ text: 'Let me look.', calls: [{ name: 'look' }] }, { text: 'Here.' }, { text: 'Two.' }],
    })
    const input: OpenAI.Responses.ResponseInput = [{ role: 'user', content: 'Where?' }]
    const first = await client.responses.create({ model: 'default', input, store: false })
    if (kind === 'items') input.push(...(first.output as OpenAI.Responses.ResponseInput))
    else input.push({ role: 'assistant', content: first.output_text })
    input.push({ role: 'user', content: 'And?' })
    const second = await client.responses.create({ model: 'default', input, store: false })
    expect(second.output_text).toBe('Two.')
    expect(await texts(await only())).toEqual(['Where?', 'Let me look.', 'seen', 'Here.', 'And?', 'Two.'])
  })
})
