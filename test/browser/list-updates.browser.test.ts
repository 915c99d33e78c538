/* Evidence, page: An update of the session list costs at most 2 KB if nothing has changed. */
import type { Page, Response } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openBrowser } from './browser.ts'
import type { Opened } from './browser.ts'

const MAX_UPDATE_BYTES = 2_048
const LIST = '**/v1/sessions?*'

let opened: Opened
beforeAll(async () => {
  opened = await openBrowser()
  await Promise.all(
    Array.from({ length: 60 }, (_, at) =>
      opened.client.createSession({ title: `Session ${at} ${'long '.repeat(20)}` }),
    ),
  )
})
afterAll(() => opened.close())

/** Counts the bytes of all requests and responses, with their headers. */
async function countBytes(page: Page): Promise<() => number> {
  let bytes = 0
  const session = await page.context().newCDPSession(page)
  await session.send('Network.enable')
  session.on('Network.loadingFinished', ({ encodedDataLength }) => (bytes += encodedDataLength))
  session.on('Network.requestWillBeSentExtraInfo', ({ headers }) => {
    bytes += Object.entries(headers).join('\r\n').length
  })
  return () => bytes
}

const isUnchanged = (response: Response): boolean =>
  response.url().includes('/v1/sessions?') && response.status() === 304

describe('an update of the list', () => {
  test.each([
    ['without filters', async () => undefined],
    ['with a filter', (page: Page) => page.getByLabel('Filter sessions by title').fill('session long')],
  ])('costs at most 2 KB when nothing changed: %s', async (_name, narrow) => {
    const page = await opened.show('/')
    await narrow(page)
    await page.waitForResponse(isUnchanged)
    await page.waitForLoadState('networkidle')
    const bytes = await countBytes(page)
    const updates = 3
    for (let update = 0; update < updates; update++) await page.waitForResponse(isUnchanged)
    await expect.poll(bytes).toBeGreaterThan(100)
    expect(bytes() / updates).toBeLessThanOrEqual(MAX_UPDATE_BYTES)
    expect(await page.locator('.session-row').count()).toBe(50)
  })

  test('fetches the content of a discarded response again, even if the next request fails', async () => {
    const { id } = await opened.client.createSession({ title: 'Before' })
    const page = await opened.show(`/sessions/${id}`)
    await page.locator(`.session-row[href="/sessions/${id}"]`).waitFor()
    const { promise: started, resolve: start } = Promise.withResolvers<undefined>()
    const { promise: released, resolve: release } = Promise.withResolvers<undefined>()
    const { id: missed } = await opened.client.createSession({ title: 'Missed' })
    let requests = 0
    await page.route(LIST, async (route) => {
      requests += 1
      if (requests === 2) return route.abort()
      start(undefined)
      if (requests === 1) await released
      return route.continue()
    })
    await started
    await page.locator('button.title').click()
    await page.getByLabel('Title', { exact: true }).fill('After')
    await page.keyboard.press('Enter')
    await page.getByRole('alert').waitFor()
    const discarded = page.waitForResponse(LIST)
    release(undefined)
    await discarded
    await page.locator(`.session-row[href="/sessions/${missed}"]`).waitFor()
    expect(await page.getByRole('alert').count()).toBe(0)
  })
})
