// Tests AG-UI clients against /v1/ag-ui: the TypeScript client, CopilotKit's core, and the Python package. The
// TypeScript client is tested in several versions, because CopilotKit and assistant-ui depend on older versions.
import { join } from 'node:path'
import { createRequire } from 'node:module'
import { pathToFileURL } from 'node:url'
import { check, finish, is, take } from '../lib/checks.mjs'
import { scriptedModel } from '../lib/model.mjs'
import { checkout, freePort, nodeOf, python as programs, run, sleep } from '../lib/options.mjs'
import { npmPackages, npmVersions, pipPackages, pipVersions } from '../lib/packages.mjs'
import { agents, program } from '../lib/program.mjs'
import { spawn } from 'node:child_process'
const model = await scriptedModel(),
  mcpPort = await freePort()
// An MCP server whose tools need an approval. It is the protocol's own example server, a test dependency of the
// checkout.
const everything = spawn(
  nodeOf,
  [join(checkout, 'node_modules/@modelcontextprotocol/server-everything/dist/index.js'), 'streamableHttp'],
  { env: { ...process.env, PORT: String(mcpPort) }, stdio: 'ignore' },
)
for (let i = 0; i < 50; i++) {
  try {
    await fetch(`http://127.0.0.1:${mcpPort}/mcp`)
    break
  } catch {
    await sleep(100)
  }
}
const served = await program({
  model,
  file: agents({ mcp: { e: { url: `http://127.0.0.1:${mcpPort}/mcp`, tools: ['echo'], needs_approval: true } } }),
  env: { TOOLTRAIL_ALLOWED_HOSTS: `127.0.0.1:${mcpPort}` },
})
const url = `${served.base}/v1/ag-ui/default`
const weather = {
  name: 'get_weather',
  description: 'weather',
  parameters: { type: 'object', properties: { location: { type: 'string' } } },
}
let n = 0
const user = (content) => ({ id: `u${++n}`, role: 'user', content })
const last = (agent) => agent.messages.at(-1)
const has = (text, ...parts) => {
  for (const p of parts) is(String(text).includes(p), `${p} is not in ${JSON.stringify(text)}`)
  return text
}
if (!process.argv.includes('--verbose')) console.error = () => {} // the clients print their errors and also throw them
for (const version of ['1.0.0', '0.0.59', '0.0.48']) {
  const dir = npmPackages(`agui-${version}`, [`@ag-ui/client@${version}`])
  const { HttpAgent } = await import(pathToFileURL(createRequire(join(dir, 'x.js')).resolve('@ag-ui/client')).href)
  const make = () => new HttpAgent({ url, threadId: `thread-${version}-${++n}` })
  const at = `@ag-ui/client ${version}`
  await check(`${at}: text, two runs of a thread`, async () => {
    const a = make()
    if (a.addMessage === undefined) a.messages.push(user('hello'))
    else a.addMessage(user('hello'))
    await a.runAgent({})
    has(last(a).content, 'heard 1')
    a.messages.push(user('again'))
    await a.runAgent({})
    return has(last(a).content, 'heard 3')
  })
  await check(`${at}: a tool of the server`, async () => {
    const a = make()
    a.messages.push(user('!call current_time {}'))
    await a.runAgent({})
    has(last(a).content, 'done: 20')
    return a.messages.map((m) => m.role).join(' ')
  })
  await check(`${at}: a tool of the client`, async () => {
    const a = make()
    a.messages.push(user('the weather please'))
    await a.runAgent({ tools: [weather] })
    const call = a.messages.findLast((m) => m.toolCalls?.length).toolCalls[0]
    a.messages.push({ id: `t${++n}`, role: 'tool', toolCallId: call.id, content: 'sunny' })
    await a.runAgent({ tools: [weather] })
    return has(last(a).content, 'sunny')
  })
  await check(`${at}: tools that change between runs`, async () => {
    const a = make()
    a.messages.push(user('!call get_weather {"location": "Oslo"}\n!then say_hola {"name": "Ada"}'))
    await a.runAgent({ tools: [weather] })
    const call = a.messages.findLast((m) => m.toolCalls?.length).toolCalls[0]
    const hola = { ...weather, name: 'say_hola' }
    a.messages.push({ id: `t${++n}`, role: 'tool', toolCallId: call.id, content: 'sunny' })
    await a.runAgent({ tools: [hola] })
    const second = a.messages.findLast((m) => m.toolCalls?.length).toolCalls[0]
    is(
      second.function.name === 'say_hola' &&
        !a.messages.some((m) => m.role === 'tool' && /there is no tool/.test(m.content)),
      `the model was not given the new tool: ${JSON.stringify(a.messages.slice(-2)).slice(0, 300)}`,
    )
  })
  await check(`${at}: two calls of the client at once`, async () => {
    const a = make()
    a.messages.push(user('!call get_weather {"location": "Oslo"}\n!call get_weather {"location": "Rome"}'))
    await a.runAgent({ tools: [weather] })
    for (const c of a.messages.flatMap((m) => m.toolCalls ?? []))
      a.messages.push({ id: `t${++n}`, role: 'tool', toolCallId: c.id, content: `sunny ${c.function.arguments}` })
    await a.runAgent({ tools: [weather] })
    return has(last(a).content, 'Oslo', 'Rome')
  })
  await check(`${at}: reasoning`, async () => {
    const a = make(),
      seen = []
    a.messages.push(user('!think hello'))
    await a.runAgent(
      {},
      {
        onEvent: ({ event }) => {
          seen.push(event.type)
        },
      },
    )
    is(
      seen.some((t) => /REASONING|THINKING/.test(t)),
      seen.join(' '),
    )
    return has(last(a).content, 'heard')
  })
  const png = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
  if (version !== '0.0.48')
    await check(`${at}: an image`, async () => {
      const a = make()
      a.messages.push(
        user([
          { type: 'text', text: 'look' },
          { type: 'image', source: { type: 'data', value: png, mimeType: 'image/png' } },
        ]),
      )
      await a.runAgent({})
      return has(last(a).content, 'look')
    })
  if (version !== '1.0.0')
    await check(`${at}: an image as a part of the type binary`, async () => {
      const a = make()
      a.messages.push(
        user([
          { type: 'text', text: 'look' },
          { type: 'binary', mimeType: 'image/png', data: png },
        ]),
      )
      await a.runAgent({})
      return has(last(a).content, 'look')
    })
  await check(`${at}: a model that fails`, async () => {
    const a = make(),
      errors = []
    a.messages.push(user('!fail'))
    await a
      .runAgent(
        {},
        {
          onRunErrorEvent: ({ event }) => {
            errors.push(event.message)
          },
        },
      )
      .catch((e) => errors.push(e.message))
    is(errors.length, 'no error')
    return errors[0].slice(0, 80)
  })
  if (version !== '0.0.48')
    await check(`${at}: an approval`, async () => {
      // Version 0.0.48 sends no `resume`.
      const a = make()
      let outcome
      a.messages.push(user('!call e__echo {"message": "hi there"}'))
      await a.runAgent(
        {},
        {
          onRunFinishedEvent: ({ event }) => {
            outcome = event.outcome
          },
        },
      )
      is(outcome === undefined || outcome.type === 'interrupt', JSON.stringify(outcome))
      if (outcome === undefined) return 'this version hands on no outcome'
      await a.runAgent({
        resume: outcome.interrupts.map((i) => ({ interruptId: i.id, status: 'resolved', payload: { approved: true } })),
      })
      return has(last(a).content, 'hi there')
    })
  await check(`${at}: a clone goes on with the thread`, async () => {
    const a = make()
    a.messages.push(user('hello'))
    await a.runAgent({})
    const b = a.clone()
    b.messages.push(user('again'))
    await b.runAgent({})
    return has(last(b).content, 'heard 3')
  })
  await check(`${at}: an agent that is not there`, async () => {
    const a = new HttpAgent({ url: `${served.base}/v1/ag-ui/nobody`, threadId: `x${++n}` })
    a.messages.push(user('x'))
    try {
      await a.runAgent({})
    } catch (e) {
      return e.message.slice(0, 100)
    }
    throw new Error('no error')
  })
}
const python = pipPackages('agui', ['ag-ui-protocol'])
console.log(pipVersions(python, ['ag-ui-protocol']))
take('python', await run(python, [join(programs, 'agui.py'), served.base]))
await check('@copilotkit/core', async () => {
  const dir = npmPackages('copilotkit', ['@copilotkit/core', '@ag-ui/client@0.0.59', 'zod'])
  console.log(npmVersions(dir, ['@copilotkit/core']))
  const require = createRequire(join(dir, 'x.js')),
    load = (name) => import(pathToFileURL(require.resolve(name)).href)
  const core = await load('@copilotkit/core'),
    { HttpAgent } = await load('@ag-ui/client')
  const CopilotKitCore = core.CopilotKitCore ?? core.default?.CopilotKitCore
  const agent = new HttpAgent({ url, threadId: 'copilot-1' }),
    { z } = await load('zod')
  const kit = new CopilotKitCore({
    agents__unsafe_dev_only: { default: agent },
    tools: [
      {
        name: 'get_weather',
        description: 'weather',
        parameters: z.object({ location: z.string() }),
        handler: async ({ location }) => `sunny in ${location}`,
      },
    ],
  })
  const target = kit.getAgent?.('default') ?? agent
  target.addMessage({ id: 'c1', role: 'user', content: 'the weather please' })
  await kit.runAgent({ agent: target })
  return has(target.messages.at(-1).content, 'sunny in San Francisco')
})
await finish(
  'agui',
  () => {
    everything.kill('SIGTERM')
  },
  served.stop,
  model.close,
)
