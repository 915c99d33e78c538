/* Evidence, page: A response that arrives late does not change the view that the person has opened since. */
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openBrowser } from './browser.ts'
import type { Opened } from './browser.ts'

let opened: Opened
beforeAll(async () => {
  opened = await openBrowser()
})
afterAll(() => opened.close())

/** Holds requests to this address until the returned function is called. */
async function held(page: Page, address: string, method = 'GET'): Promise<() => void> {
  const { promise, resolve } = Promise.withResolvers<undefined>()
  await page.route(address, async (route) => {
    if (route.request().method() === method) await promise
    await route.continue()
  })
  return () => resolve(undefined)
}

const field = (page: Page) => page.getByLabel('Message', { exact: true })

test("a session starts although its creation is answered late, and the person's view does not change", async () => {
  const { client } = opened
  const { id } = await client.createSession({ title: 'Elsewhere' })
  const page = await opened.show('/new')
  const make = await held(page, '**/v1/sessions', 'POST')
  await field(page).fill('hello from far away')
  await page.keyboard.press('Enter')
  await page.locator(`.session-row[href="/sessions/${id}"]`).click()
  await field(page).fill('half a sentence')
  make()
  const made = async () => (await client.listSessions()).data.find((session) => session.id !== id)
  await expect.poll(async () => (await made())?.usage.runs).toBe(1)
  expect(page.url()).toBe(`${opened.url}/sessions/${id}`)
  expect(await field(page).inputValue()).toBe('half a sentence')
})

test.each([
  ['deletion', 'Delete', 'Delete for good', (id: string) => `**/v1/sessions/${id}`, 'DELETE'],
  ['fork', 'Export', /^Fork/, (id: string) => `**/v1/sessions/${id}/fork`, 'POST'],
] as const)("a late response to a %s does not change the person's view", async (name, begin, go, addressOf, method) => {
  const { client } = opened
  const { id: from } = await client.createSession({})
  await client.importMessages(from, JSON.stringify({ role: 'user', content: 'hello' }), { format: 'openai' })
  const { id: other } = await client.createSession({ title: `Stays after ${name}` })
  const page = await opened.show(`/sessions/${from}`)
  const end = await held(page, addressOf(from), method)
  await page.getByRole('button', { name: begin, exact: true }).click()
  await page.getByRole('button', { name: go }).click()
  await page.keyboard.press('Escape')
  await page.locator(`.session-row[href="/sessions/${other}"]`).click()
  const response = page.waitForResponse((one) => one.request().method() === method)
  end()
  await response
  await page.waitForTimeout(300)
  expect(page.url()).toBe(`${opened.url}/sessions/${other}`)
})

test('hits of an earlier query do not replace the hits of the current query', async () => {
  const { client } = opened
  const { id } = await client.createSession({})
  const words = [...Array.from({ length: 30 }, () => 'zebrafish'), 'platypus']
  const lines = words.map((word, at) => JSON.stringify({ role: 'user', content: `${word} ${at}` }))
  await client.importMessages(id, lines.join('\n'), { format: 'openai' })
  const page = await opened.show(`/search?q=zebrafish&session=${id}`)
  await page.getByText('20+ hits').waitFor()
  const more = await held(page, '**/v1/search?*after=*')
  await page.getByRole('button', { name: 'More hits' }).click()
  const next = await held(page, '**/v1/search?*platypus*')
  await page.getByRole('searchbox', { name: 'Search everything' }).fill('platypus')
  await page.getByText('Searching…').waitFor()
  expect(await page.getByRole('button', { name: 'More hits' }).count()).toBe(0)
  next()
  await page.getByText(/^1 hit\b/).waitFor()
  const late = page.waitForResponse('**/v1/search?*after=*')
  more()
  await late
  await page.waitForTimeout(300)
  expect(await page.locator('.hit').count()).toBe(1)
})

test('while usage is loading, or if loading fails, the usage view does not report an absence of usage', async () => {
  await opened.client.sendMessage((await opened.client.createSession({})).id, { content: 'hello' })
  const page = await opened.show('/usage?by=session')
  const group = page.getByRole('region', { name: 'By group' })
  await group.locator('table').waitFor({ state: 'attached' })
  const read = await held(page, '**/v1/usage?*by=model*')
  await page.getByRole('button', { name: 'model', exact: true }).click()
  await group.getByText('Loading…').waitFor()
  expect(await group.locator('table').count()).toBe(0)
  read()
  await group.locator('table').waitFor({ state: 'attached' })
  await page.route('**/v1/usage?*by=owner*', (route) => route.abort())
  await page.getByRole('button', { name: 'owner', exact: true }).click()
  await group.getByRole('alert').waitFor()
  expect(await group.getByText('Nothing was used').count()).toBe(0)
})
