// JavaScript clients against /openai/v1: openai (runTools), @openai/agents, LangChain.
import { join } from 'node:path'
import { createRequire } from 'node:module'
import { pathToFileURL } from 'node:url'
import { check, finish, is } from '../lib/checks.mjs'
import { scriptedModel } from '../lib/model.mjs'
import { npmPackages, npmVersions } from '../lib/packages.mjs'
import { program } from '../lib/program.mjs'
// Each group of packages is installed in a separate folder. In one folder, npm would choose older versions that fit all
// groups.
const folders = {
  openai: ['openai', 'zod'],
  agents: ['@openai/agents', 'openai', 'zod'],
  langchain: ['@langchain/openai', '@langchain/core', 'langchain', 'zod'],
}
const dirs = {}
for (const [family, names] of Object.entries(folders)) {
  dirs[family] = npmPackages(`js-${family}`, names)
  console.log(
    `${family}: ${npmVersions(
      dirs[family],
      names.map((n) => n.replace(/(.)@\d+$/, '$1')),
    )}`,
  )
}
let family = 'openai'
const from = async (name) => import(pathToFileURL(createRequire(join(dirs[family], 'x.js')).resolve(name)).href)
const model = await scriptedModel()
const served = await program({ model })
const base = `${served.base}/openai/v1`
let { z } = await from('zod')
const has = (text, ...parts) => {
  for (const p of parts) is(String(text).includes(p), `${p} is not in ${text}`)
  return text
}

const { default: OpenAI } = await from('openai')
const client = new OpenAI({ baseURL: base, apiKey: 'none', maxRetries: 0 })
const parameters = { type: 'object', properties: { location: { type: 'string' } }, required: ['location'] }
const runnable = {
  type: 'function',
  function: {
    name: 'get_weather',
    description: 'weather',
    parameters,
    parse: JSON.parse,
    function: ({ location }) => `sunny in ${location}`,
  },
}
for (const stream of [false, true])
  await check(`openai runTools${stream ? ' streamed' : ''}`, async () => {
    const runner = client.chat.completions.runTools({
      model: 'bare',
      stream,
      messages: [{ role: 'user', content: 'the weather please' }],
      tools: [runnable],
    })
    return has(await runner.finalContent(), 'sunny in San Francisco')
  })
await check('openai runTools, two rounds of tools', async () => {
  const runner = client.chat.completions.runTools({
    model: 'bare',
    messages: [
      { role: 'user', content: '!call get_weather {"location": "Oslo"}\n!then get_weather {"location": "Rome"}' },
    ],
    tools: [runnable],
  })
  return has(await runner.finalContent(), 'Oslo', 'Rome')
})
await check(
  'openai chat parse',
  async () =>
    (
      await client.chat.completions.parse({
        model: 'bare',
        messages: [{ role: 'user', content: 'x' }],
        response_format: { type: 'json_schema', json_schema: { name: 'a', schema: parameters } },
      })
    ).id,
)

family = 'agents'
;({ z } = await from('zod'))
const agentsSdk = await from('@openai/agents')
const {
  Agent,
  run,
  tool,
  OpenAIResponsesModel,
  OpenAIChatCompletionsModel,
  setTracingDisabled,
  MemorySession,
  OpenAIConversationsSession,
} = agentsSdk
setTracingDisabled(true)
const weather = tool({
  name: 'get_weather',
  description: 'weather',
  parameters: z.object({ location: z.string() }),
  execute: ({ location }) => `sunny in ${location}`,
})
const hola = tool({
  name: 'say_hola',
  description: 'hola',
  parameters: z.object({ name: z.string() }),
  execute: ({ name }) => `hola ${name}`,
})
const approved = tool({
  name: 'delete_weather',
  description: 'x',
  parameters: z.object({ location: z.string() }),
  needsApproval: true,
  execute: ({ location }) => `no weather in ${location}`,
})
for (const [api, Model] of [
  ['responses', OpenAIResponsesModel],
  ['chat', OpenAIChatCompletionsModel],
]) {
  const m = (name = 'bare') => new Model(client, name)
  await check(`agents ${api}: plain`, async () =>
    has((await run(new Agent({ name: 'a', instructions: 'be brief', model: m() }), 'hello')).finalOutput, 'heard'),
  )
  await check(`agents ${api}: tool loop`, async () =>
    has(
      (await run(new Agent({ name: 'a', model: m(), tools: [weather] }), 'the weather please')).finalOutput,
      'sunny in San Francisco',
    ),
  )
  await check(`agents ${api}: streamed tool loop`, async () => {
    const r = await run(new Agent({ name: 'a', model: m(), tools: [weather] }), 'the weather please', { stream: true })
    let n = 0
    for await (const _ of r) n++
    await r.completed
    return `${n} events ${has(r.finalOutput, 'sunny')}`
  })
  await check(`agents ${api}: session of the client`, async () => {
    const session = new MemorySession()
    const a = new Agent({ name: 'a', model: m(), tools: [weather] })
    await run(a, 'one', { session })
    await run(a, 'the weather please', { session })
    return has((await run(a, 'again', { session })).finalOutput, 'heard 7')
  })
  await check(`agents ${api}: handoff, then a tool of the second agent`, async () => {
    const b = new Agent({ name: 'spanish', instructions: 'you are b', model: m(), tools: [hola] }),
      a = new Agent({ name: 'triage', instructions: 'you are a', model: m(), handoffs: [b] })
    return has((await run(a, '!call transfer_to_spanish {}\n!then say_hola {"name": "Ada"}')).finalOutput, 'hola Ada')
  })
  await check(`agents ${api}: handoff, instructions of the second agent`, async () => {
    const b = new Agent({ name: 'spanish', instructions: 'you are b', model: m(), tools: [hola] }),
      a = new Agent({ name: 'triage', instructions: 'you are a', model: m(), handoffs: [b] })
    const r = await run(a, 'please handoff !who')
    return has(r.finalOutput, 'you are b', 'say_hola')
  })
  await check(`agents ${api}: approval, state kept as text, resumed`, async () => {
    const a = new Agent({ name: 'a', model: m(), tools: [approved] })
    let r = await run(a, '!call delete_weather {"location": "Oslo"}')
    is(r.interruptions.length === 1, 'no interruption')
    const state = await agentsSdk.RunState.fromString(a, JSON.stringify(r.state))
    state.approve(state.getInterruptions()[0])
    r = await run(a, state)
    return has(r.finalOutput, 'no weather in Oslo')
  })
  await check(
    `agents ${api}: outputType`,
    async () =>
      (await run(new Agent({ name: 'a', model: m(), outputType: z.object({ city: z.string() }) }), 'x')).finalOutput,
  )
  await check(
    `agents ${api}: toolChoice required`,
    async () =>
      (
        await run(
          new Agent({ name: 'a', model: m(), tools: [weather], modelSettings: { toolChoice: 'required' } }),
          'the weather',
        )
      ).finalOutput,
  )
}
await check('agents responses: previousResponseId', async () => {
  const a = new Agent({ name: 'a', model: new OpenAIResponsesModel(client, 'bare'), tools: [weather] })
  const r = await run(a, 'the weather please')
  return has((await run(a, 'again', { previousResponseId: r.lastResponseId })).finalOutput, 'heard 5')
})
await check('agents responses: conversationId', async () => {
  const { id } = await client.conversations.create()
  const a = new Agent({ name: 'a', model: new OpenAIResponsesModel(client, 'bare'), tools: [weather] })
  await run(a, 'the weather please', { conversationId: id })
  return has((await run(a, 'again', { conversationId: id })).finalOutput, 'heard 5')
})
await check('agents responses: OpenAIConversationsSession', async () => {
  const session = new OpenAIConversationsSession({ client })
  const a = new Agent({ name: 'a', model: new OpenAIResponsesModel(client, 'bare') })
  await run(a, 'one', { session })
  return has((await run(a, 'two', { session })).finalOutput, 'heard 3')
})

family = 'langchain'
;({ z } = await from('zod'))
const { ChatOpenAI } = await from('@langchain/openai'),
  { createAgent, tool: lcTool } = await from('langchain')
const lcWeather = lcTool(async ({ location }) => `sunny in ${location}`, {
  name: 'get_weather',
  description: 'weather',
  schema: z.object({ location: z.string() }),
})
for (const useResponsesApi of [false, true]) {
  const api = useResponsesApi ? 'responses' : 'chat',
    m = () =>
      new ChatOpenAI({
        model: 'bare',
        apiKey: 'none',
        maxRetries: 0,
        useResponsesApi,
        configuration: { baseURL: base },
      })
  await check(`langchain ${api}: invoke`, async () => has((await m().invoke('hello')).text, 'heard'))
  await check(`langchain ${api}: stream`, async () => {
    let whole
    for await (const c of await m().stream('hello')) whole = whole ? whole.concat(c) : c
    return has(whole.text, 'heard')
  })
  await check(`langchain ${api}: createAgent, two turns`, async () => {
    const a = createAgent({ model: m(), tools: [lcWeather] })
    const r = await a.invoke({ messages: [{ role: 'user', content: 'the weather please' }] })
    has(r.messages.at(-1).text, 'sunny')
    const r2 = await a.invoke({ messages: [...r.messages, { role: 'user', content: 'again' }] })
    return has(r2.messages.at(-1).text, 'heard 5')
  })
  await check(`langchain ${api}: withStructuredOutput`, async () =>
    m()
      .withStructuredOutput(z.object({ city: z.string() }))
      .invoke('x'),
  )
}
await finish('clients-js', served.stop, model.close)
