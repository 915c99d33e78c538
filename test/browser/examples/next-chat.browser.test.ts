/* Evidence, clients: `examples/next-chat` builds, and its page stops, regenerates, edits, denies and resumes runs. */
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { isWhole } from '../../whole.ts'
import { openNextApp } from './next-app.ts'
import type { NextApp } from './next-app.ts'

/** Installing and building the example takes a minute and needs the package registry. CI tests only the example's route. */
describe.runIf(isWhole)('the example next-chat', () => {
  let app: NextApp
  beforeAll(async () => {
    app = await openNextApp()
  })
  afterAll(async () => {
    const { complaints } = app
    await app.close()
    expect(complaints).toEqual([])
  })

  const send = async (page: Page, text: string): Promise<void> => {
    await page.getByLabel('Message', { exact: true }).fill(text)
    await page.getByRole('button', { name: 'Send' }).click()
  }
  const messages = (page: Page): Promise<string[]> => page.getByLabel('Messages').locator('> li').allInnerTexts()
  const chatOf = (page: Page): string => page.url().split('/').at(-1) ?? ''
  const statuses = async (chat: string): Promise<string[]> =>
    (await app.client.listRuns(chat)).data.map(({ status }) => status).toReversed()
  /** The call on which the run waits. The model's text may name it, too. */
  const callOf = (page: Page) => page.getByText('demo_wait', { exact: true })
  const isReady = (page: Page) => page.getByRole('button', { name: 'Send' }).waitFor()

  test('answers, lists the session by its title, and keeps the key on its server', async () => {
    const page = await app.show('/')
    await send(page, 'what time is it')
    await page.getByText('current_time said:').waitFor()
    await page.getByRole('navigation').getByRole('link', { name: 'what time is it' }).waitFor()
    expect(await page.content()).not.toContain(app.key)
    expect(await statuses(chatOf(page))).toEqual(['completed'])
  })

  test('stops a run', async () => {
    const page = await app.show('/')
    await send(page, 'wait 60 seconds')
    await callOf(page).waitFor()
    await page.getByRole('button', { name: 'Stop' }).click()
    await isReady(page)
    await expect.poll(() => statuses(chatOf(page))).toEqual(['cancelled'])
    await send(page, 'what time is it')
    await page.getByText('current_time said:').waitFor()
  })

  test('regenerates an answer and edits a message; both replace earlier runs', async () => {
    const page = await app.show('/')
    await send(page, 'hello')
    await page.getByText('you said "hello"').waitFor()
    await isReady(page)
    await page.getByRole('button', { name: 'Regenerate' }).click()
    await expect.poll(() => statuses(chatOf(page))).toEqual(['completed', 'completed'])
    await isReady(page)
    await page.getByRole('button', { name: 'Edit' }).click()
    await page.getByLabel('Edited message').fill('goodbye')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('you said "goodbye"').waitFor()
    await isReady(page)
    await page.reload()
    await page.getByText('you said "goodbye"').waitFor()
    expect(await messages(page)).toHaveLength(2)
    const log = (await app.client.listMessages(chatOf(page))).data
    expect(log.filter(({ role }) => role === 'user')).toHaveLength(3)
  })

  test('does not cancel a run when the page is reloaded, and resumes the run after the reload', async () => {
    const page = await app.show('/')
    await send(page, 'wait 5 seconds')
    await callOf(page).waitFor()
    await page.reload()
    await page.getByRole('button', { name: 'Stop' }).waitFor()
    await page.getByText('demo_wait said:').waitFor()
    expect(await statuses(chatOf(page))).toEqual(['completed'])
    expect(await messages(page)).toHaveLength(2)
  })

  test('continues a run while its user looks at another chat', async () => {
    const page = await app.show('/')
    await send(page, 'wait 3 seconds')
    await callOf(page).waitFor()
    const chat = chatOf(page)
    await page.getByRole('navigation').getByRole('link', { name: 'what time is it' }).first().click()
    await page.getByText('current_time said:').waitFor()
    await expect.poll(() => statuses(chat)).toEqual(['completed'])
    await page.getByRole('navigation').getByRole('link', { name: 'wait 3 seconds' }).click()
    await page.getByText('demo_wait said:').waitFor()
  })

  test('shows a denied call', async () => {
    const page = await app.show('/')
    await send(page, 'publish the report')
    await page.getByRole('button', { name: 'Deny' }).click()
    await page.getByText('output-denied').waitFor()
    await expect.poll(() => statuses(chatOf(page))).toEqual(['completed'])
  })

  test.each([360, 768, 1280])('fits a window of %i pixels', async (width) => {
    const page = await app.show('/', { viewport: { width, height: 800 } })
    await send(page, `hello ${'x'.repeat(200)}`)
    await page.getByText('you said').waitFor()
    await isReady(page)
    const sizes = await page.evaluate('[document.documentElement.scrollWidth, window.innerWidth]')
    expect((sizes as number[])[0]).toBeLessThanOrEqual((sizes as number[])[1] ?? 0)
  })
})
