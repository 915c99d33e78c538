import type { Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openBrowser } from '../browser.ts'
import type { Opened } from '../browser.ts'

let opened: Opened
beforeAll(async () => {
  opened = await openBrowser()
})
afterAll(() => opened.close())

const tools = [{ name: 'get_json', description: 'Gets it.', parameters: { type: 'object' } }]

/** Creates a session with a call that has this output. Returns the session's page, which shows the output. */
async function openOutput(output: string, prepare = async (_page: Page): Promise<unknown> => undefined): Promise<Page> {
  const { client } = opened
  const { id } = await client.createSession({})
  await client.sendMessage(id, { content: 'use get_json with {}', tools })
  await expect.poll(async () => (await client.readSession(id)).run?.status).toBe('paused')
  const run = (await client.listRuns(id)).data[0]
  const [call] = run?.waiting ?? []
  await client.sendToolResults(id, run?.id ?? '', { results: [{ message_id: call?.message_id ?? '', output }] })
  const page = await opened.show(`/sessions/${id}`)
  await prepare(page)
  await page.locator('details.call summary').first().click()
  await page.getByRole('button', { name: 'Open output' }).click()
  return page
}

test('an output of one line is shown in chunks, up to its end', async () => {
  const output = JSON.stringify(Array.from({ length: 20_000 }, (_, at) => ({ id: at, name: `item number ${at}` })))
  const page = await openOutput(output)
  await page.locator('.line').first().getByText('"item number 0"').waitFor()
  await page.getByLabel('Search in this output').fill('item number 19999')
  await page.keyboard.press('Enter')
  await page
    .getByRole('dialog')
    .getByText(`${Math.ceil(output.length / 2_000)} lines`)
    .waitFor()
  expect(await page.locator('.line.found').textContent()).toContain('item number 19999')
})

test('a chunk that failed to load is loaded again when needed, and a failed download is reported', async () => {
  const lines = Array.from({ length: 60_000 }, (_, at) => `line ${at}`)
  let requests = 0
  const page = await openOutput(lines.join('\n'), (shown) =>
    shown.route('**/output*', (route) =>
      route.request().headers()['range'] === undefined || ++requests === 2 ? route.abort() : route.continue(),
    ),
  )
  const dialog = page.getByRole('dialog')
  await page.locator('.line').first().waitFor()
  // The scroll requests the second part of the output.
  await page.evaluate(`document.querySelector('.output').scrollTop = 1e7`)
  await dialog.getByRole('alert').waitFor()
  await page.getByLabel('Search in this output').fill('line 59999')
  await page.keyboard.press('Enter')
  await page.locator('.line.found').waitFor()
  expect(await dialog.getByRole('alert').count()).toBe(0)
  await dialog.getByRole('button', { name: 'Download' }).click()
  await dialog.getByRole('alert').waitFor()
})

test('an output stays open when its call is scrolled out of sight', async () => {
  const { id } = await opened.client.createSession({})
  const page = await opened.show(`/sessions/${id}`)
  await page.getByLabel('Message', { exact: true }).fill('write a long report')
  await page.keyboard.press('Enter')
  await page.getByText('demo_report()').first().click()
  await page.getByRole('button', { name: 'Open output' }).click()
  await page.getByRole('dialog').getByText('5,000 lines').waitFor()
  const turns = Array.from({ length: 60 }, (_, at) => ({ role: 'user', content: `later ${at}\n`.repeat(10) }))
  await opened.client.importMessages(id, turns.map((turn) => JSON.stringify(turn)).join('\n'), { format: 'openai' })
  await expect
    .poll(async () => {
      await page.evaluate(`document.querySelector('.scroller').scrollTop = 1e7`)
      return page.locator('.entry', { hasText: 'later 59' }).count()
    })
    .toBe(1)
  expect(await page.getByText('demo_report()').count()).toBe(1) // The title of the dialog.
  expect(await page.locator('dialog[open]').count()).toBe(1)
})
