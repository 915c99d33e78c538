import type { Page, Request } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startOpenAiServer } from '../model-server/openai-server.ts'
import type { OpenAiServer, OpenAiStep } from '../model-server/openai-server.ts'
import { openBrowser } from './browser.ts'
import type { Opened } from './browser.ts'

/** Maximum number of HTTP/1.1 connections that a browser opens to one host from all tabs together. */
const CONNECTIONS = 6
const HALF: OpenAiStep = { completion: { parts: [{ type: 'text', text: 'half of what is to be said' }] }, hangAfter: 3 }
const CALL: OpenAiStep = {
  completion: { parts: [{ type: 'tool_call', id: 'c1', name: 'current_time', arguments: '{}' }] },
}

let model: OpenAiServer
let opened: Opened
beforeAll(async () => {
  model = await startOpenAiServer(({ messages }) => {
    const { role, content } = messages.at(-1) ?? {}
    if (content === 'go on') return { completion: { parts: [{ type: 'text', text: 'all is said' }] } }
    return role === 'user' ? CALL : HALF
  })
  opened = await openBrowser({ MODEL: 'scripted', MODEL_BASE_URL: model.baseUrl })
})
afterAll(async () => {
  await opened.close()
  await model.close()
})

const log = (page: Page) => page.getByRole('region', { name: 'Conversation' })
const draft = (page: Page) => page.locator('.draft .markdown')
const isStream = (request: Request): boolean => request.url().endsWith('/events') || request.method() === 'POST'

/** Sets whether the page counts as hidden. In a headless browser, every tab counts as visible. */
const setHidden = (page: Page, isHidden: boolean): Promise<void> =>
  page.evaluate(`{
    Object.defineProperty(document, 'hidden', { configurable: true, value: ${isHidden} })
    Object.defineProperty(document, 'visibilityState', { configurable: true, value: '${isHidden ? 'hidden' : 'visible'}' })
    document.dispatchEvent(new Event('visibilitychange'))
  }`)

/** Hides the page, and waits until the page has ended its stream. */
async function leave(page: Page): Promise<void> {
  const ended = page.waitForEvent('requestfailed', isStream)
  await setHidden(page, true)
  await ended
}

test('hidden tabs close their connections, so that the visible tab can open a connection', async () => {
  const { client } = opened
  const { id } = await client.createSession({})
  const { id: run } = await client.sendMessage(id, { content: 'begin' })
  const first = await opened.show(`/sessions/${id}`)
  const context = first.context()
  for (let tab = 0; tab < CONNECTIONS; tab++) {
    const page = tab === 0 ? first : await context.newPage()
    await page.goto(`${opened.url}/sessions/${id}`)
    await draft(page).waitFor()
    await setHidden(page, true)
  }
  const last = await context.newPage()
  await last.goto(`${opened.url}/sessions/${id}`)
  await draft(last).waitFor()
  expect((await client.readRun(id, run)).status).toBe('running')
  await setHidden(first, false)
  await client.cancelRun(id, run)
  for (const page of [last, first]) await log(page).getByText('The run was cancelled.').waitFor()
})

test('a hidden tab that becomes visible continues after the last event, and shows a partial completion once', async () => {
  const { id } = await opened.client.createSession({})
  const page = await opened.show(`/sessions/${id}`)
  await page.getByLabel('Message', { exact: true }).fill('begin')
  await page.keyboard.press('Enter')
  await draft(page).waitFor()
  const half = await draft(page).textContent()
  await leave(page)
  const again = page.waitForRequest(isStream)
  await setHidden(page, false)
  const call = (await opened.client.listMessages(id)).data.find(({ role }) => role === 'tool')?.id ?? ''
  expect((await again).headers()['last-event-id']).toBe(`${call}:tool_call.completed`)
  await page.getByRole('status').getByText('Running').waitFor()
  await page.waitForTimeout(300)
  expect(await draft(page).allTextContents()).toEqual([half])
  await page.getByRole('button', { name: 'Stop' }).click()
  await log(page).getByText('The run was cancelled.').waitFor()
})

test('a tab that becomes visible shows the events that arrived while it was hidden, each exactly once', async () => {
  const { client } = opened
  const { id } = await client.createSession({})
  const { id: run } = await client.sendMessage(id, { content: 'begin' })
  const page = await opened.show(`/sessions/${id}`)
  await draft(page).waitFor()
  await leave(page)
  await client.cancelRun(id, run)
  await client.sendMessage(id, { content: 'go on' })
  await expect.poll(async () => (await client.readSession(id)).run?.status).toBe('completed')
  const { promise: held, resolve: letGo } = Promise.withResolvers<undefined>()
  await page.route('**/events', async (route) => {
    await held
    await route.continue()
  })
  await setHidden(page, false)
  await page.getByRole('status').getByText('Catching up…').waitFor()
  expect(await log(page).getByText('all is said').count()).toBe(0)
  letGo(undefined)
  await log(page).getByText('all is said').waitFor()
  await expect.poll(() => page.getByRole('status').textContent()).toBe('')
  const shown = await page.evaluate("Array.from(document.querySelectorAll('.entry'), ({ id }) => id)")
  const { data } = await client.listMessages(id)
  expect(shown).toEqual(data.filter(({ role }) => role !== 'tool').map((message) => message.id))
  expect(await log(page).locator('details.call').count()).toBe(1)
})
