/* Evidence, page: The page shows hostile texts of models, tools and people as plain text. */
import { createServer } from 'node:http'
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openBrowser } from './browser.ts'
import type { Opened } from './browser.ts'

/** Code in the hostile texts. The flag shows whether the page has executed this code. */
const MARK = 'globalThis.executed = true'
/** Texts that models, tools and people may produce. */
const HOSTILE = [
  `<script>${MARK}</script>`,
  `<img src="x" onerror="${MARK}"><svg onload="${MARK}"></svg><iframe srcdoc="<script>parent.${MARK}</script>"></iframe>`,
  `[click](javascript:${MARK}) <javascript:${MARK}> [data](data:text/html,<script>${MARK}</script>) ![i](javascript:${MARK})`,
  `[ref][1]\n\n[1]: javascript:${MARK}\n\n[vb](vbscript:x) [js](JaVaScRiPt&colon;${MARK}) [ctl](java\nscript:${MARK})`,
  '[https://bank.example](https://thief.example/login) ![pixel](https://thief.example/pixel.png)',
  '\u202Egnp.exe \u0000\u0007\u001B[31m red \u001B]8;;https://thief.example\u0007link\u001B]8;;\u0007',
  `<style>*{display:none}</style><base href="https://thief.example/"><meta http-equiv="refresh" content="0;url=https://thief.example/">`,
  `<form action="https://thief.example"><input name=q><button>Send</button></form><dialog open>Log in</dialog>`,
  `\`\`\`html"><script>${MARK}</script>\n<script>${MARK}</script>\n\`\`\``,
  `| a | b |\n|---|---|\n| <b onclick="${MARK}">x</b> | [y](javascript:${MARK}) |`,
  `${'> '.repeat(300)}deep\n${'- '.repeat(300)}list\n${'['.repeat(2_000)}${'*'.repeat(2_001)}${'_a'.repeat(2_000)}`,
  `{"__proto__": {"executed": true}, "constructor": {"prototype": {"executed": true}}, "html": "<script>${MARK}</script>"}`,
  `${'['.repeat(900)}${']'.repeat(900)}`,
  `${'['.repeat(3_000)}${']'.repeat(3_000)}`,
  `${'>'.repeat(2_500)} deep`,
  `${'a.'.repeat(25_000)}@`,
  `${'x'.repeat(100_000)}\n${'\u0301'.repeat(5_000)}`,
]

let model: Server
let opened: Opened
/** Starts a model server that returns the input's text, and a call with the same text as arguments. */
beforeAll(async () => {
  model = createServer((request, response) => {
    let body = ''
    request.on('data', (chunk: Buffer) => (body += chunk.toString()))
    request.on('end', () => {
      const { messages } = JSON.parse(body) as { messages: { role: string; content: string }[] }
      const said = messages.findLast(({ role }) => role === 'user')?.content ?? ''
      const isFirst = messages.at(-1)?.role === 'user'
      const call = { index: 0, id: 'c1', type: 'function', function: { name: 'current_time', arguments: said } }
      const delta = { role: 'assistant', content: said, ...(isFirst ? { tool_calls: [call] } : {}) }
      const chunk = (choice: object): string =>
        `data: ${JSON.stringify({ id: 'x', object: 'chat.completion.chunk', created: 1, model: 'm', choices: [{ index: 0, ...choice }] })}\n\n`
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      const reason = isFirst ? 'tool_calls' : 'stop'
      response.end(
        `${chunk({ delta, finish_reason: null })}${chunk({ delta: {}, finish_reason: reason })}data: [DONE]\n\n`,
      )
    })
  })
  await new Promise<void>((resolve) => model.listen(0, '127.0.0.1', resolve))
  const { port } = model.address() as AddressInfo
  opened = await openBrowser({ MODEL: 'hostile', MODEL_BASE_URL: `http://127.0.0.1:${port}/v1` })
})
afterAll(async () => {
  await opened.close()
  model.close()
})

test('hostile texts stay text: they run no script, load nothing, and open no hidden link', async () => {
  const { client } = opened
  const { id } = await client.createSession({ title: HOSTILE[1] ?? '', owner: HOSTILE[0] ?? '' })
  for (const content of HOSTILE)
    for await (const { event } of client.streamMessage(id, { content }))
      if (event.type === 'run.failed') throw new Error(event.run.error?.message)
  const conversation = `/sessions/${id}`
  const page = await opened.show(conversation)
  for (const address of [conversation, `${conversation}/timeline`, `${conversation}/context`, '/search?q=script']) {
    await page.goto(opened.url + address)
    await page.waitForLoadState('networkidle')
    for (let step = 0; address === conversation && step < 12; step++) {
      await page.evaluate(`for (const call of document.querySelectorAll('details.call:not([open]) > summary')) call.click()
        document.querySelector('.scroller').scrollTop = document.querySelector('.scroller').scrollHeight * ${(12 - step) / 12}`)
      const found = await page.evaluate(`({
        executed: String(globalThis.executed ?? ({}).executed),
        foreign: document.querySelectorAll('#page script, #page iframe, #page style, #page base, #page meta, #page form[action], #page [onerror], #page [onclick], #page [onload]').length,
        links: [...document.querySelectorAll('#page a')].map((a) => [a.href, a.textContent]),
        images: [...document.images].map((image) => image.src),
      })`)
      const { executed, foreign, links, images } = found as {
        executed: string
        foreign: number
        links: [string, string][]
        images: string[]
      }
      expect([executed, foreign, images]).toEqual(['undefined', 0, []])
      for (const [href, text] of links)
        if (!href.startsWith(opened.url)) {
          expect(href).toMatch(/^https:\/\//)
          expect(text).toContain(href)
        }
    }
    expect(await page.evaluate('String(globalThis.executed)')).toBe('undefined')
    expect(new URL(page.url()).origin).toBe(opened.url)
  }
  expect(opened.complaints).toEqual([])
})

test('a message that cannot be rendered is shown as JSON, and does not affect other messages', async () => {
  const { id } = await opened.client.createSession({})
  const turns = [
    { role: 'user', content: 'before' },
    { role: 'assistant', content: 'broken' },
    { role: 'user', content: 'after' },
  ]
  await opened.client.importMessages(id, turns.map((turn) => JSON.stringify(turn)).join('\n'), {
    format: 'openai',
  })
  const page = await opened.show('/')
  await page.route(`**/v1/sessions/${id}/messages?*`, async (route) => {
    const response = await route.fetch()
    await route.fulfill({ response, body: (await response.text()).replace('"text":"broken"', '"text":null') })
  })
  await page.goto(`${opened.url}/sessions/${id}`)
  await page.locator('.said').getByText('after', { exact: true }).waitFor()
  await page.locator('.said').getByText('before', { exact: true }).waitFor()
  expect(await page.locator('pre.plain').allTextContents()).toEqual([expect.stringContaining('"text": null')])
})

test('addresses and arguments are shown from left to right, even beside characters that reverse the direction', async () => {
  const { client } = opened
  const { id } = await client.createSession({})
  const text = 'Log in [here\u202E](https://thief.example/nigol/moc.knab//:sptth) or there'
  const content = [
    { role: 'user', content: 'where?' },
    { role: 'assistant', content: text },
  ]
  await client.importMessages(id, content.map((turn) => JSON.stringify(turn)).join('\n'), { format: 'openai' })
  for await (const _ of client.streamMessage(id, { content: '{"file": "invoice\u202Egnp.exe"}' }));
  const page = await opened.show(`/sessions/${id}`)
  const left = (words: string): Promise<unknown> =>
    page.evaluate(`(() => {
      const walker = document.createTreeWalker(document.querySelector('.markdown a .address'), NodeFilter.SHOW_TEXT)
      let text = walker.nextNode()
      while (text !== null && !text.data.includes(${JSON.stringify(words)})) text = walker.nextNode()
      const range = document.createRange()
      const at = text.data.indexOf(${JSON.stringify(words)})
      range.setStart(text, at)
      range.setEnd(text, at + ${words.length})
      return range.getBoundingClientRect().left
    })()`)
  await page.locator('.markdown a .address').waitFor()
  expect(Number(await left('thief'))).toBeLessThan(Number(await left('sptth')))
  await page.locator('details.call summary').first().click()
  await page.locator('.tree').getByText('"invoice\\u202egnp.exe"').waitFor()
})
