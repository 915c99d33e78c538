/* Evidence, page: The docs page can be searched, a link opens its folded entry, and axe finds no fault in it. */
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openBrowser } from './browser.ts'
import type { Opened } from './browser.ts'
import { expectNoFaults } from './faults.ts'

let opened: Opened
beforeAll(async () => {
  opened = await openBrowser()
})
afterAll(() => opened.close())

const visibleIds = (page: Page): Promise<unknown> =>
  page.evaluate("[...document.querySelectorAll('article:not([hidden])')].map(({ id }) => id)")
const openIds = (page: Page): Promise<unknown> =>
  page.evaluate(
    "[...document.querySelectorAll('article > details[open]')].map(({ parentElement }) => parentElement.id)",
  )
const field = (page: Page) => page.getByRole('searchbox', { name: 'Search operations and schemas' })

/** Checks that the line of this entry has the focus and is visible below the search field. */
async function expectShown(page: Page, id: string): Promise<void> {
  const focused = "document.activeElement.closest('article')?.id"
  await expect.poll(() => page.evaluate(focused)).toBe(id)
  expect(await openIds(page)).toContain(id)
  const covering = `(() => {
    const { left, top } = document.activeElement.getBoundingClientRect()
    return document.elementFromPoint(left + 5, top + 2)?.closest('article')?.id
  })()`
  await expect.poll(() => page.evaluate(covering)).toBe(id)
}

describe.each(['light', 'dark'] as const)('in %s colours', (colorScheme) => {
  test('axe reports no faults in folded entries, in open entries, and in a search without a match', async () => {
    const page = await opened.show('/docs', { colorScheme })
    // Only three entries of each kind are opened, because axe needs minutes for all of them.
    await page.evaluate(`for (const id of ['listSessions', 'sendMessage', 'createResponse', 'RunEvent', 'Session', 'Problem'])
      for (const details of document.getElementById(id).querySelectorAll('details')) details.open = true`)
    await page.locator('#listSessions').getByRole('button', { name: 'Send' }).click()
    await page.getByRole('region', { name: 'Response' }).getByText('200 OK').waitFor()
    await expectNoFaults(page)
    await field(page).fill('no such word')
    await page.getByRole('status').getByText('Nothing matches').waitFor()
    await expectNoFaults(page)
  })
})

describe('a search in the docs', () => {
  test('shows entries that contain every word, and all entries after it is cleared', async () => {
    const page = await opened.show('/docs')
    const all = (await visibleIds(page)) as string[]
    await field(page).fill('POST  Fork')
    expect(await visibleIds(page)).toEqual(['forkSession'])
    expect(await page.getByRole('status').textContent()).toBe(`1 of ${all.length}`)
    expect(await page.locator('nav li:visible').allTextContents()).toEqual([expect.stringContaining('Copy a session')])
    expect(await page.locator('main h2:visible').allTextContents()).toEqual(['Sessions'])
    // Every operation says that each refusal is a problem. That sentence is not searched.
    await field(page).fill('problem')
    expect(await visibleIds(page)).toContain('Problem')
    expect(await visibleIds(page)).not.toContain('forkSession')
    await field(page).fill('')
    expect(await visibleIds(page)).toEqual(all)
    expect(await page.getByRole('status').textContent()).toBe('')
  })

  test.each(['<b onclick="x">', '.*(', '[', '\\', '%zz', '"\''])('takes %s as text', async (text) => {
    const page = await opened.show('/docs')
    await field(page).fill(text)
    const shown = (await visibleIds(page)) as string[]
    const status = await page.getByRole('status').textContent()
    expect(status).toMatch(shown.length === 0 ? /^Nothing matches/ : /^\d+ of \d+$/)
    if (shown.length === 0) expect(status).toContain(text)
    expect(await page.locator('[role=status] *').count()).toBe(0)
  })
})

describe.each([1280, 390])('in a window of %i pixels', (width) => {
  const show = (path: string) => opened.show(path, { viewport: { width, height: 800 } })

  test('a link to a folded entry opens this entry only', async () => {
    const page = await show('/docs#forkSession')
    await expectShown(page, 'forkSession')
    expect(await openIds(page)).toEqual(['forkSession'])
    await page.locator('#forkSession').getByRole('link', { name: 'NewFork' }).click()
    await expectShown(page, 'NewFork')
  })

  test('a link opens its entry again after the reader has folded it', async () => {
    const page = await show('/docs#forkSession')
    await page.locator('#forkSession').getByRole('link', { name: 'NewFork' }).click()
    await expectShown(page, 'NewFork')
    await page.keyboard.press('Enter')
    await expect.poll(() => openIds(page)).toEqual(['forkSession'])
    await page.locator('#forkSession').getByRole('link', { name: 'NewFork' }).click()
    await expectShown(page, 'NewFork')
  })

  test('a link to an entry that the search hides clears the search', async () => {
    const page = await show('/docs')
    await field(page).fill('fork post')
    await page.locator('#forkSession h3').click()
    await page.locator('#forkSession').getByRole('link', { name: 'NewFork' }).click()
    await expectShown(page, 'NewFork')
    expect(await field(page).inputValue()).toBe('')
  })

  test('a reader searches, opens the first match and folds it, by keyboard alone', async () => {
    const page = await show('/docs')
    await page.keyboard.press('Tab')
    await page.keyboard.press('Tab')
    await page.keyboard.type('fork')
    await page.keyboard.press('Enter')
    await expectShown(page, 'forkSession')
    expect(await field(page).inputValue()).toBe('fork')
    await page.keyboard.press('Space')
    await expect.poll(() => openIds(page)).toEqual([])
  })

  test('a malformed address opens nothing', async () => {
    const page = await show('/docs#%zz')
    await field(page).fill('fork')
    expect(await openIds(page)).toEqual([])
    expect(await page.getByRole('status').textContent()).toMatch(/ of /)
  })
})
