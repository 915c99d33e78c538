/* Evidence, page: The keyboard focus stays through rendering, late responses and closing dialogs. */
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openBrowser } from './browser.ts'
import type { Opened } from './browser.ts'

let opened: Opened
beforeAll(async () => {
  opened = await openBrowser()
})
afterAll(() => opened.close())

/** Holds requests with this method until the returned function is called. */
async function holdRequests(page: Page, method: string): Promise<() => void> {
  const { promise, resolve } = Promise.withResolvers<undefined>()
  await page.route('**/v1/**', async (route) => {
    if (route.request().method() === method) await promise
    await route.continue()
  })
  return () => resolve(undefined)
}

/** Returns the label of the focused element; without a label, its text. `BODY`: no element has the focus. */
const focused = (page: Page): Promise<string> =>
  page.evaluate(`(({ activeElement: element }) =>
    element === document.body ? 'BODY' : element.getAttribute('aria-label') ?? element.textContent)(document)`)

/** Opens the field of the title, enters this title, and presses the key, all before the browser paints the field. */
const renameBeforePaint = (page: Page, title: string, key: string): Promise<void> =>
  page.evaluate(`new Promise((resolve) => {
    const observer = new MutationObserver(() => {
      const field = document.querySelector('.title-field')
      if (field === null) return
      observer.disconnect()
      field.value = ${JSON.stringify(title)}
      field.dispatchEvent(new KeyboardEvent('keydown', { key: ${JSON.stringify(key)}, bubbles: true }))
      resolve()
    })
    observer.observe(document.body, { childList: true, subtree: true })
    document.querySelector('button.title').click()
  })`)

describe('the focus stays', () => {
  test.each(['Enter', 'Escape'])('on the title when %s is pressed before the field is painted', async (key) => {
    const { id } = await opened.client.createSession({ title: 'A slow title' })
    const page = await opened.show(`/sessions/${id}`)
    await page.locator('button.title').waitFor()
    await renameBeforePaint(page, 'A fast title', key)
    await expect.poll(() => focused(page)).toBe(key === 'Enter' ? 'A fast title' : 'A slow title')
  })

  test('on the title while the response to a new title is delayed and the list is updated', async () => {
    const { id } = await opened.client.createSession({ title: 'A slow answer' })
    const page = await opened.show(`/sessions/${id}`)
    await page.locator('button.title').focus()
    const answer = await holdRequests(page, 'PATCH')
    await page.keyboard.press('Enter')
    await page.getByLabel('Title', { exact: true }).fill('A late answer')
    await page.keyboard.press('Enter')
    const { id: other } = await opened.client.createSession({ title: 'Another one' })
    await page.locator(`.session-row[href="/sessions/${other}"]`).waitFor()
    await page.waitForFunction(`document.activeElement.matches('button.title')`)
    answer()
    await expect.poll(() => page.locator('.session-title').allTextContents()).toContain('A late answer')
    expect(await focused(page)).toBe('A late answer')
  })

  test("on the button that opened a dialog, after the dialog's own button closes it", async () => {
    const { id } = await opened.client.createSession({ title: 'To be kept' })
    const page = await opened.show(`/sessions/${id}`)
    await page.getByRole('button', { name: 'Delete', exact: true }).focus()
    await page.keyboard.press('Enter')
    await page.getByRole('button', { name: 'Keep it' }).focus()
    await page.keyboard.press('Enter')
    await expect.poll(() => page.locator('dialog').count()).toBe(0)
    expect(await focused(page)).toBe('Delete')
  })

  test("on a dialog's button until the response arrives, then on the button that opened the dialog", async () => {
    const { id } = await opened.client.createSession({ title: 'A report' })
    const page = await opened.show(`/sessions/${id}`)
    await page.getByRole('button', { name: 'Export' }).focus()
    await page.keyboard.press('Enter')
    const answer = await holdRequests(page, 'GET')
    const button = page.getByRole('button', { name: /^Markdown/ })
    await button.focus()
    await page.keyboard.press('Enter')
    await expect.poll(() => button.getAttribute('aria-disabled')).toBe('true')
    expect(await focused(page)).toContain('Markdown')
    answer()
    await expect.poll(() => page.locator('dialog').count()).toBe(0)
    expect(await focused(page)).toBe('Export')
  })

  test('in the conversation after a waiting call is decided', async () => {
    const { id } = await opened.client.createSession({ title: 'To be decided' })
    for await (const _event of opened.client.streamMessage(id, { content: 'publish the report' })) continue
    const page = await opened.show(`/sessions/${id}`)
    await page.getByRole('button', { name: 'Approve' }).focus()
    await page.keyboard.press('Enter')
    await expect.poll(() => page.getByRole('button', { name: 'Approve' }).count()).toBe(0)
    await expect.poll(() => focused(page)).toBe('Conversation')
  })

  test('on the row of a session that moves to the top of the list', async () => {
    const { client } = opened
    const { id } = await client.createSession({ title: 'From the bottom' })
    const { id: second } = await client.createSession({ title: 'From the top' })
    await client.sendMessage(id, { content: 'hello' })
    await client.sendMessage(second, { content: 'hello' })
    const page = await opened.show('/')
    const titles = async () => (await page.locator('.session-title').allTextContents()).slice(0, 2)
    await expect.poll(titles).toEqual(['From the top', 'From the bottom'])
    await page.locator(`.session-row[href="/sessions/${id}"]`).focus()
    await client.sendMessage(id, { content: 'hello again' })
    await expect.poll(titles).toEqual(['From the bottom', 'From the top'])
    expect(await focused(page)).toContain('From the bottom')
    const { id: empty } = await client.createSession({ title: 'Without a message' })
    const row = page.locator(`.session-row[href="/sessions/${empty}"]`)
    await row.focus()
    await client.sendMessage(empty, { content: 'hello' })
    await expect.poll(async () => (await titles())[0]).toBe('Without a message')
    expect(await focused(page)).toContain('Without a message')
  })
})
