import type { Page } from 'playwright-core'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { openBrowser } from '../browser.ts'
import type { Opened } from '../browser.ts'

const TURNS = 200

const IS_AT_END = `(() => {
  const list = document.querySelector('.scroller')
  return list.scrollHeight - list.scrollTop - list.clientHeight < 2
})()`
/** Scrolls to the end. Resolves to true if the page was there before, and is still there after more rows are rendered. */
const SCROLL_TO_END = `new Promise((done) => {
  const list = document.querySelector('.scroller')
  const isThere = list.scrollHeight - list.scrollTop - list.clientHeight < 1
  list.scrollTop = 1e6
  setTimeout(() => done(isThere && list.scrollHeight - list.scrollTop - list.clientHeight < 1), 100)
})`

let opened: Opened
let session = ''
let first = ''
beforeAll(async () => {
  opened = await openBrowser()
})
beforeEach(async () => {
  const { client } = opened
  session = (await client.createSession({})).id
  const lines = Array.from({ length: TURNS }, (_, turn) => [
    { role: 'user', content: `question ${turn}` },
    { role: 'assistant', content: `answer ${turn}${'\n\nand more'.repeat((turn * 7) % 5)}` },
  ])
  const text = lines.flat().map((line) => JSON.stringify(line))
  await client.importMessages(session, text.join('\n'), { format: 'openai' })
  first = (await client.listMessages(session, { limit: 1 })).data[0]?.id ?? ''
})
afterAll(() => opened.close())

/**
 * Shows the oldest part of the log, scrolled to `before` pixels above the end of this part. Newer messages load after `letGo` is
 * called.
 */
async function showOldPart(before = 0): Promise<{ readonly page: Page; readonly place: number; letGo(): void }> {
  const page = await opened.show('/')
  const { promise: held, resolve } = Promise.withResolvers<undefined>()
  await page.route('**/messages?*after=*', async (route) => {
    await held
    await route.continue()
  })
  await page.goto(`${opened.url}/sessions/${session}#${first}`)
  await input(page, 'question 0').waitFor()
  await expect.poll(() => page.evaluate(SCROLL_TO_END)).toBe(true)
  const atEnd = await placeOf(page, 'question 49')
  await page.evaluate(`document.querySelector('.scroller').scrollTop -= ${before}`)
  await page.waitForTimeout(200)
  return { page, place: atEnd + before, letGo: () => resolve(undefined) }
}

const input = (page: Page, text: string) => page.locator('.entry.user', { hasText: new RegExp(`${text}$`) })
const placeOf = async (page: Page, text: string): Promise<number> =>
  Math.round((await input(page, text).boundingBox())?.y ?? Number.NaN)
/** Accepts a difference of one pixel, because heights have fractions of a pixel. */
const about = (place: number): number[] => [place - 1, place, place + 1]

test('the viewport stays at the end of an old part of the log when newer messages arrive', async () => {
  const { page, place, letGo } = await showOldPart()
  letGo()
  await input(page, 'question 50').waitFor()
  await page.waitForTimeout(1_000)
  expect(await placeOf(page, 'question 49')).toBeOneOf(about(place))
})

test('the viewport stays near the end of an old part of the log while other writers add messages', async () => {
  const { page, place, letGo } = await showOldPart(30)
  await opened.client.sendMessage(session, { content: 'wait 2 seconds' })
  const running = page.getByRole('status').getByText('Running')
  await running.waitFor()
  letGo()
  await running.waitFor({ state: 'detached' })
  await input(page, 'question 50').waitFor()
  expect(await placeOf(page, 'question 49')).toBeOneOf(about(place))
})

test('after an input is sent from an old part of the log, the page shows the new messages', async () => {
  const { page, letGo } = await showOldPart(400)
  letGo()
  await page.getByLabel('Message', { exact: true }).fill('from far away')
  await page.keyboard.press('Enter')
  await page.getByText('you said "from far away"').waitFor()
  await expect.poll(() => page.evaluate(IS_AT_END)).toBe(true)
})

test('a slow scroll upwards ends following the log, and new messages are shown after scrolling to the end', async () => {
  const page = await opened.show(`/sessions/${session}`)
  await input(page, `question ${TURNS - 1}`).waitFor()
  await expect.poll(() => page.evaluate(SCROLL_TO_END)).toBe(true)
  const place = await placeOf(page, `question ${TURNS - 1}`)
  await page.mouse.move(700, 300)
  for (let step = 0; step < 5; step++) {
    await page.mouse.wheel(0, -10)
    await page.waitForTimeout(150)
  }
  await opened.client.sendMessage(session, { content: 'what time is it' })
  await page.getByText('current_time()').waitFor({ state: 'attached' })
  await page.waitForTimeout(500)
  expect(await placeOf(page, `question ${TURNS - 1}`)).toBeOneOf(about(place + 50))
  await page.evaluate(SCROLL_TO_END)
  await opened.client.sendMessage(session, { content: 'publish the report' })
  await page.getByRole('button', { name: 'Approve' }).waitFor()
  await expect.poll(() => page.evaluate(IS_AT_END)).toBe(true)
})

test('the viewport stays at the first loaded call when the completion with this call is loaded above it', async () => {
  const { client } = opened
  const { id } = await client.createSession({})
  const names = Array.from({ length: 20 }, (_, call) => ({
    id: `c${call}`,
    type: 'function',
    function: { name: 'current_time', arguments: '{}' },
  }))
  const turns = Array.from({ length: 30 }, (_, turn) => [
    { role: 'user', content: `question ${turn}` },
    { role: 'assistant', content: `asking ${turn}`, tool_calls: names },
    ...names.map((call) => ({ role: 'tool', tool_call_id: call.id, content: 'noon' })),
    { role: 'assistant', content: `answer ${turn}` },
  ])
  const text = turns.flat().map((line) => JSON.stringify(line))
  await client.importMessages(id, text.join('\n'), { format: 'openai' })
  const page = await opened.show('/')
  const { promise: held, resolve: letGo } = Promise.withResolvers<undefined>()
  await page.route('**/messages?*before=*', async (route) => {
    await held
    await route.continue()
  })
  await page.goto(`${opened.url}/sessions/${id}`)
  await input(page, 'question 29').waitFor()
  await page.evaluate("document.querySelector('.scroller').scrollTop = 0")
  await input(page, 'question 26').waitFor()
  await page.waitForTimeout(300)
  await page.evaluate("document.querySelector('.scroller').scrollTop = 60")
  await page.waitForTimeout(300)
  const place = await placeOf(page, 'question 26')
  letGo(undefined)
  await page.getByText('asking 25', { exact: true }).waitFor({ state: 'attached' })
  await page.waitForTimeout(1_000)
  expect(await placeOf(page, 'question 26')).toBeOneOf(about(place))
})
