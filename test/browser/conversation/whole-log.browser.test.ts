/* Evidence, page: The page shows a log without gaps, in whatever order messages arrive. */
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openBrowser } from '../browser.ts'
import type { Opened } from '../browser.ts'

let opened: Opened
beforeAll(async () => {
  opened = await openBrowser()
})
afterAll(() => opened.close())

/** Adds `turns` inputs, each with its completion. */
async function addTurns(session: string, word: string, turns: number): Promise<void> {
  const lines = Array.from({ length: turns }, (_, turn) => [
    { role: 'user', content: `${word} ${turn}` },
    { role: 'assistant', content: `answer to ${word} ${turn}` },
  ])
  const text = lines.flat().map((line) => JSON.stringify(line))
  await opened.client.importMessages(session, text.join('\n'), { format: 'openai' })
}

/** Loads the whole log, scrolls from its start to its end, and returns the inputs that were visible. */
async function readAll(page: Page, last: string): Promise<string[]> {
  const seen = new Set<string>()
  const look = async (): Promise<void> => {
    for (const text of await page.locator('.entry.user .said').allTextContents()) seen.add(text)
  }
  const newer = page.getByText('Loading newer messages…')
  while ((await newer.count()) > 0) {
    await scroll(page, '+= 1e6')
    await page.waitForTimeout(100)
  }
  await scroll(page, '= 0')
  for (let step = 0; step < 400 && !seen.has(last); step++) {
    await look()
    await scroll(page, '+= 500')
  }
  return [...seen]
}

/** Scrolls the log. Resolves once the visible rows are rendered; until then, the list shows the earlier rows. */
const scroll = (page: Page, to: string): Promise<void> =>
  page.evaluate(`new Promise((done) => {
    document.querySelector('.scroller').scrollTop ${to}
    requestAnimationFrame(() => requestAnimationFrame(() => requestAnimationFrame(done)))
  })`)

const inputs = (word: string, turns: number): string[] => Array.from({ length: turns }, (_, turn) => `${word} ${turn}`)

test('messages that arrive while a page shows the start of the log are placed after all earlier messages', async () => {
  const { client } = opened
  const { id } = await client.createSession({})
  await addTurns(id, 'old', 100)
  const first = (await client.listMessages(id, { limit: 1 })).data[0]?.id ?? ''
  const page = await opened.show(`/sessions/${id}#${first}`)
  await page.locator('.said').getByText('old 1', { exact: true }).waitFor()
  await client.sendMessage(id, { content: 'wait 3 seconds' })
  await page.getByRole('status').getByText('Running').waitFor()
  await page.getByRole('status').getByText('Running').waitFor({ state: 'detached' })
  expect(await readAll(page, 'wait 3 seconds')).toEqual([...inputs('old', 100), 'wait 3 seconds'])
})

test('a burst of new messages is shown without a gap', async () => {
  const { id } = await opened.client.createSession({})
  await addTurns(id, 'old', 2)
  const page = await opened.show(`/sessions/${id}`)
  await page.locator('.said').getByText('old 1', { exact: true }).waitFor()
  await addTurns(id, 'new', 60)
  await page.locator('.said').getByText('new 59', { exact: true }).waitFor()
  expect(await readAll(page, 'new 59')).toEqual([...inputs('old', 2), ...inputs('new', 60)])
})

test('a log that could not be read is read again, and is not shown as empty meanwhile', async () => {
  const { id } = await opened.client.createSession({})
  await addTurns(id, 'old', 40)
  const page = await opened.show('/')
  let refused = 0
  await page.route(`**/sessions/${id}/messages?*`, (route) => (refused++ < 2 ? route.abort() : route.continue()))
  await page.goto(`${opened.url}/sessions/${id}`)
  const log = page.getByRole('region', { name: 'Conversation' })
  await log.getByRole('alert').waitFor()
  expect(await log.locator('p.edge').allTextContents()).toEqual([])
  await page.locator('.said').getByText('old 39', { exact: true }).waitFor()
  expect(await log.getByRole('alert').count()).toBe(0)
  expect(await readAll(page, 'old 39')).toEqual(inputs('old', 40))
})

test('the page reports that another person deleted the session', async () => {
  const { id } = await opened.client.createSession({})
  await addTurns(id, 'old', 1)
  const page = await opened.show(`/sessions/${id}`)
  await page.locator('.said').getByText('old 0', { exact: true }).waitFor()
  await opened.client.deleteSession(id)
  await page.getByLabel('Message', { exact: true }).waitFor({ state: 'detached' })
  expect(await page.locator('.session').getByRole('alert').allTextContents()).toEqual([
    expect.stringContaining('This session does not exist.'),
  ])
})
