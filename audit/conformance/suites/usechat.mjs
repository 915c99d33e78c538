// `useChat` of two versions of the AI SDK, in jsdom, against /v1/chat.
import { join } from 'node:path'
import { spawn } from 'node:child_process'
import { check, finish, is } from '../lib/checks.mjs'
import { scriptedModel } from '../lib/model.mjs'
import { checkout, freePort, nodeOf, sleep } from '../lib/options.mjs'
import { agents, program } from '../lib/program.mjs'
import { checkTools } from '../lib/use-chat-tools.mjs'
import { openUseChat } from '../lib/use-chat.mjs'
const families = {
  7: ['ai@7', '@ai-sdk/react@4', 'react', 'react-dom', 'jsdom', '@testing-library/react', '@testing-library/dom'],
  6: ['ai@6', '@ai-sdk/react@3', 'react', 'react-dom', 'jsdom', '@testing-library/react', '@testing-library/dom'],
}
const model = await scriptedModel(),
  mcpPort = await freePort()
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
const api = `${served.base}/v1/chat`
if (!process.argv.includes('--verbose')) console.error = console.warn = () => {}
const weather = {
  name: 'get_weather',
  description: 'weather',
  parameters: { type: 'object', properties: { location: { type: 'string' } } },
}
for (const [sdk, packages] of Object.entries(families)) {
  const page = await openUseChat(sdk, packages, api)
  const { ChatTransport, act, waitFor, cleanup, open, settled, text, last, has, send } = page
  const at = `ai ${sdk}:`
  await check(`${at} two turns`, async () => {
    const c = open()
    await send(c, 'hello')
    await settled(c)
    has(text(last(c)), 'heard 1')
    await send(c, 'again')
    await settled(c)
    return `${c.chat.messages.length} messages, ${has(text(last(c)), 'heard 3')}`
  })
  await check(`${at} a tool of the server`, async () => {
    const c = open()
    await send(c, '!call current_time {}')
    await settled(c)
    is(c.chat.messages.length === 2, `${c.chat.messages.length} messages`)
    return `${last(c)
      .parts.map((p) => p.type + (p.state ? `/${p.state}` : ''))
      .join(' ')} ${has(text(last(c)), 'done')}`
  })
  await checkTools(at, page, weather)
  await check(`${at} reasoning`, async () => {
    const c = open()
    await send(c, '!think hello')
    await settled(c)
    is(
      last(c).parts.some((p) => p.type === 'reasoning' && p.text),
      JSON.stringify(last(c).parts),
    )
    return text(last(c))
  })
  await check(`${at} a model that fails`, async () => {
    const c = open()
    await send(c, '!fail')
    await settled(c, 'error')
    return c.chat.error.message.slice(0, 100)
  })
  await check(`${at} after a failure, another message`, async () => {
    const c = open()
    await send(c, '!fail')
    await settled(c, 'error')
    await send(c, 'hello')
    await settled(c)
    return has(text(last(c)), 'heard')
  })
  await check(`${at} stop, then read again`, async () => {
    const c = open()
    let done
    act(() => {
      done = c.chat.sendMessage({ text: '!slow 20' })
    })
    await waitFor(() => has(text(last(c)), 'word3'), { timeout: 15_000 })
    await act(async () => {
      await c.chat.stop()
    })
    await done
    await settled(c)
    await sleep(1_500)
    const log = await (await fetch(`${api}/${c.id}`)).json()
    return `stopped at ${text(last(c)).split(' ').length - 1} words, the run has ${text(log.at(-1)).split(' ').length - 1}`
  })
  await check(`${at} stop of ChatTransport cancels the run`, async () => {
    const c = open(undefined, { transport: new ChatTransport({ url: served.base }) })
    let done
    act(() => {
      done = c.chat.sendMessage({ text: '!slow 100' })
    })
    await waitFor(() => has(text(last(c)), 'word3'), { timeout: 15_000 })
    await act(async () => {
      await c.chat.stop()
    })
    await done
    await settled(c)
    const runs = await waitFor(
      async () => {
        const { data } = await (await fetch(`${served.base}/v1/sessions/${c.id}/runs`)).json()
        is(data[0].status === 'cancelled', data[0].status)
        return data
      },
      { timeout: 15_000 },
    )
    return `${runs.length} run, cancelled`
  })
  await check(`${at} regenerate and edit with ChatTransport`, async () => {
    const c = open(undefined, { transport: new ChatTransport({ url: served.base }) })
    await send(c, 'hello')
    await settled(c)
    await act(async () => {
      await c.chat.regenerate()
    })
    await settled(c)
    has(text(last(c)), 'heard 1')
    await act(async () => {
      await c.chat.sendMessage({ text: 'goodbye', messageId: c.chat.messages[0].id })
    })
    await settled(c)
    is(c.chat.messages.length === 2, `${c.chat.messages.length} messages`)
    return has(text(last(c)), 'heard 1: goodbye')
  })
  await check(`${at} resume: a second page joins a run under way`, async () => {
    const c = open()
    let done
    act(() => {
      done = c.chat.sendMessage({ text: '!slow 25' })
    })
    await waitFor(() => has(text(last(c)), 'word3'), { timeout: 15_000 })
    const log = await (await fetch(`${api}/${c.id}`)).json()
    const d = open(c.id, { messages: log, resume: true })
    await waitFor(() => has(text(last(d)), 'word24'), { timeout: 15_000 })
    await done
    await settled(d)
    is(d.chat.messages.length === 2, `${d.chat.messages.length} messages: ${d.chat.messages.map((m) => m.role)}`)
    is(text(last(d)) === text(last(c)), `${text(last(d))} / ${text(last(c))}`)
    return `${d.chat.messages.length} messages, equal text`
  })
  await check(`${at} resume of a chat that has ended, and of one that has not begun`, async () => {
    const c = open()
    await send(c, 'hello')
    await settled(c)
    const log = await (await fetch(`${api}/${c.id}`)).json()
    const d = open(c.id, { messages: log, resume: true })
    await sleep(500)
    await settled(d)
    is(d.chat.messages.length === 2, 'messages')
    const e = open(undefined, { resume: true })
    await sleep(500)
    is(e.chat.status === 'ready', e.chat.status)
    return 'both ready'
  })
  await check(`${at} read again equals what was streamed`, async () => {
    const c = open()
    await send(c, '!call current_time {}\n!think')
    await settled(c)
    const log = await (await fetch(`${api}/${c.id}`)).json()
    const shape = (m) =>
      m.parts.filter((p) => p.type !== 'step-start').map((p) => [p.type, p.text ?? p.output ?? '', p.toolCallId ?? ''])
    is(
      JSON.stringify(shape(log.at(-1))) === JSON.stringify(shape(last(c))),
      `${JSON.stringify(shape(log.at(-1)))} / ${JSON.stringify(shape(last(c)))}`,
    )
    is(log.at(-1).id === last(c).id, 'ids differ')
  })
  await check(`${at} a chat read again goes on`, async () => {
    const c = open()
    await send(c, 'hello')
    await settled(c)
    const d = open(c.id, { messages: await (await fetch(`${api}/${c.id}`)).json() })
    await send(d, 'again')
    await settled(d)
    return has(text(last(d)), 'heard 3')
  })
  await check(`${at} a tool of the page after the page was loaded again`, async () => {
    const c = open(undefined, {}, { tools: [weather] })
    await send(c, 'the weather please')
    await settled(c)
    const d = open(c.id, { messages: await (await fetch(`${api}/${c.id}`)).json(), resume: true }, { tools: [weather] })
    await sleep(300)
    const part = last(d).parts.find((p) => p.toolCallId)
    is(part?.state === 'input-available', JSON.stringify(last(d).parts))
    await act(async () => {
      const chat = d.chat
      await (chat.addToolOutput ?? chat.addToolResult)({
        tool: 'get_weather',
        toolCallId: part.toolCallId,
        output: 'sunny',
      })
    })
    await waitFor(() => has(text(last(d)), 'sunny'), { timeout: 15_000 })
    return text(last(d))
  })
  await check(`${at} an image`, async () => {
    const c = open()
    await act(async () => {
      await c.chat.sendMessage({
        text: 'look',
        files: [
          {
            type: 'file',
            mediaType: 'image/png',
            filename: 'p.png',
            url: 'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
          },
        ],
      })
    })
    await settled(c)
    return has(text(last(c)), 'look')
  })
  await check(`${at} regenerate`, async () => {
    const c = open()
    await send(c, 'hello')
    await settled(c)
    await act(async () => {
      await c.chat.regenerate()
    })
    await settled(c)
  })
  await check(`${at} metadata: usage`, async () => {
    const c = open()
    await send(c, 'hello')
    await settled(c)
    is(
      last(c).metadata?.usage?.total_tokens > 0 || last(c).metadata?.usage?.totalTokens > 0,
      JSON.stringify(last(c).metadata),
    )
    return JSON.stringify(last(c).metadata).slice(0, 120)
  })
  cleanup()
}
await finish(
  'usechat',
  () => {
    everything.kill('SIGTERM')
  },
  served.stop,
  model.close,
)
