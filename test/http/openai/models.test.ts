import { expect, test } from 'vitest'
import { openHttpHarness } from '../harness.ts'
import { openAiClient } from './openai-client.ts'

test("a model's creation time is the start of the process, in the list and in a single read", async () => {
  const before = Math.floor(Date.now() / 1000)
  const harness = await openHttpHarness()
  try {
    const client = openAiClient(harness)
    const [model] = (await client.models.list()).data
    expect(model).toMatchObject({ id: 'default', object: 'model', owned_by: 'tooltrail' })
    expect(model?.created).toBeGreaterThanOrEqual(before)
    expect(await client.models.retrieve('default')).toEqual(model)
  } finally {
    await harness.close()
  }
})

test('an alias of an agent works in every facade, for keys that may use the agent', async () => {
  const aliases = new Map([
    ['gpt-4o', 'default'],
    ['openai/gpt-5:text', 'other'],
  ])
  const harness = await openHttpHarness({ settings: { aliases } })
  try {
    const client = openAiClient(harness)
    expect((await client.models.list()).data.map(({ id }) => id)).toEqual(['default', 'other', ...aliases.keys()])
    expect((await client.models.retrieve('openai/gpt-5:text')).id).toBe('openai/gpt-5:text')
    const said = [{ role: 'user' as const, content: 'Hello' }]
    expect((await client.chat.completions.create({ model: 'gpt-4o', messages: said })).model).toBe('gpt-4o')
    expect((await client.responses.create({ model: 'openai/gpt-5:text', input: 'Hello' })).model).toBe(
      'openai/gpt-5:text',
    )
    const message = { id: 'm1', role: 'user', parts: [{ type: 'text', text: 'Hello' }] }
    const chat = { id: 'chat', agent: 'gpt-4o', trigger: 'submit-message', messages: [message] }
    expect((await harness.send('POST', '/v1/chat', chat)).status).toBe(200)
    const input = { threadId: 'thread', runId: 'r1', state: {}, context: [], forwardedProps: {}, tools: [] }
    const aside = { ...input, messages: [{ id: 'm1', ...said[0] }] }
    expect((await harness.send('POST', '/v1/ag-ui/gpt-4o', aside)).status).toBe(200)
    const { data } = (await (await harness.send('GET', '/v1/sessions')).json()) as { data: { agent: string }[] }
    expect(data.map(({ agent }) => agent).toSorted()).toEqual(['default', 'default', 'default', 'other'])
    const key = await harness.key({ agents: ['other'] })
    const bound = (await (await harness.send('GET', '/openai/v1/models', undefined, key)).json()) as {
      data: { id: string }[]
    }
    expect(bound.data.map(({ id }) => id)).toEqual(['other', 'openai/gpt-5:text'])
  } finally {
    await harness.close()
  }
})
