import { createRequire } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { is } from './checks.mjs'
import { checkout } from './options.mjs'
import { npmPackages, npmVersions } from './packages.mjs'

/** Number of chats so far. */
let opened = 0

/**
 * Loads `useChat` of one version of the AI SDK into a document of jsdom. Returns the functions with which checks use
 * this document.
 */
export async function openUseChat(sdk, packages, api) {
  const dir = npmPackages(`usechat-${sdk}`, packages),
    require = createRequire(join(dir, 'x.js')),
    load = (name) => import(pathToFileURL(require.resolve(name)).href)
  console.log(npmVersions(dir, ['ai', '@ai-sdk/react', 'react', 'jsdom']))
  const { JSDOM } = await load('jsdom')
  const dom = new JSDOM('<!doctype html><body></body>', { url: 'http://127.0.0.1/' })
  for (const key of ['window', 'document', 'HTMLElement', 'Node', 'Element', 'MutationObserver'])
    globalThis[key] = key === 'window' ? dom.window : dom.window[key]
  globalThis.IS_REACT_ACT_ENVIRONMENT = true
  const { renderHook, act, waitFor, cleanup } = await load('@testing-library/react'),
    { useChat } = await load('@ai-sdk/react'),
    {
      DefaultChatTransport,
      lastAssistantMessageIsCompleteWithToolCalls: isAnswered,
      lastAssistantMessageIsCompleteWithApprovalResponses: isDecided,
    } = await load('ai')
  const open = (id = `chat-${sdk}-${++opened}`, options = {}, body = {}) => {
    const hook = renderHook(() =>
      useChat({
        id,
        transport: new DefaultChatTransport({ api, body: { agent: 'default', sdk: Number(sdk), ...body } }),
        sendAutomaticallyWhen: (c) => isAnswered(c) || isDecided(c),
        ...options,
      }),
    )
    return {
      id,
      hook,
      get chat() {
        return hook.result.current
      },
    }
  }
  const settled = async (c, status = 'ready') =>
    waitFor(
      () => {
        if (c.chat.status !== status) throw new Error(`status ${c.chat.status} ${c.chat.error?.message ?? ''}`)
      },
      { timeout: 15_000, interval: 20 },
    )
  const text = (m) =>
    m.parts
      .filter((p) => p.type === 'text')
      .map((p) => p.text)
      .join('')
  const last = (c) => c.chat.messages.at(-1)
  const has = (t, ...parts) => {
    for (const p of parts) is(String(t).includes(p), `${p} is not in ${JSON.stringify(t)}`)
    return t
  }
  const send = (c, t) =>
    act(async () => {
      await c.chat.sendMessage({ text: t })
    })
  const { ChatTransport } = await import(pathToFileURL(join(checkout, 'built/client/ai-sdk.js')).href)
  return { ChatTransport, act, waitFor, cleanup, open, settled, text, last, has, send }
}
