/* Evidence, page: The page is usable by keyboard only, and axe finds no fault in its views. */
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { openBrowser } from './browser.ts'
import type { Opened } from './browser.ts'

let opened: Opened
beforeAll(async () => {
  opened = await openBrowser()
  const { client } = opened
  for (const [id, content] of [
    ['third', 'publish the report'],
    ['second', 'what time is it in Asia/Tokyo, then write a long report'],
    ['first', 'a blue crate for the mayor'],
  ] as const) {
    await client.createSession({ id, title: `The ${id}` })
    for await (const _event of client.streamMessage(id, { content })) continue
  }
})
afterAll(() => opened.close())

/** Returns the name of the focused element. */
const focused = async (page: Page): Promise<string> =>
  String(await page.evaluate("document.activeElement.getAttribute('aria-label') ?? document.activeElement.textContent"))

/** Whether the focus is visible: the element or its container has a focus ring. */
const isSeen = (page: Page): Promise<boolean> =>
  page.evaluate(`(() => {
    for (let element = document.activeElement; element !== null; element = element.parentElement) {
      const { outlineStyle, boxShadow } = getComputedStyle(element)
      if (outlineStyle !== 'none' || boxShadow !== 'none' || element.classList.contains('composer')) return true
    }
    return false
  })()`)

/** Presses Tab until this element has the focus. Each element before it must show its focus. */
async function tabTo(page: Page, name: string): Promise<void> {
  const stops: string[] = []
  for (let at = 0; at < 80; at++) {
    await page.keyboard.press('Tab')
    stops.push(await focused(page))
    expect([stops.at(-1), await isSeen(page)]).toEqual([stops.at(-1), true])
    if (stops.at(-1)?.includes(name) === true) return
  }
  throw new Error(`Tab does not lead to ${name}, but to ${stops.join(', ')}`)
}

describe('by keyboard alone', () => {
  test('a person moves between sessions, writes in a message field, leaves the field, and approves a call', async () => {
    const page = await opened.show('/')
    await page.getByText('The first').waitFor()
    const heading = () => page.locator('h1').textContent()
    for (const [key, title] of [
      ['j', 'The first'],
      ['j', 'The second'],
      ['j', 'The third'],
      ['k', 'The second'],
    ] as const) {
      await page.keyboard.press(key)
      await expect.poll(heading).toBe(title)
    }
    await page.keyboard.press('c')
    await page.keyboard.type('j and k and /')
    expect(await page.getByLabel('Message', { exact: true }).inputValue()).toBe('j and k and /')
    await page.keyboard.press('Escape')
    expect(await focused(page)).toBe('Conversation')
    await page.keyboard.press('j')
    await expect.poll(heading).toBe('The third')
    await tabTo(page, 'Approve')
    await page.keyboard.press('Enter')
    await expect.poll(() => page.locator('.call .state').allTextContents()).toEqual(['completed'])
  })

  test('a person changes a title or cancels the change, and the title keeps the focus', async () => {
    onTestFinished(async () => void (await opened.client.changeSession('first', { title: 'The first' })))
    const page = await opened.show('/sessions/first')
    await page.getByRole('button', { name: 'The first' }).focus()
    for (const [key, title] of [
      ['Escape', 'The first'],
      ['Enter', 'The 1st'],
    ] as const) {
      await page.keyboard.press('Enter')
      await page.getByLabel('Title', { exact: true }).fill('The 1st')
      await page.keyboard.press(key)
      await expect.poll(() => focused(page)).toBe(title)
    }
  })

  test('Enter opens the call of a hit, even before the search has ended', async () => {
    const page = await opened.show('/usage')
    await page.getByRole('heading', { name: 'Usage' }).waitFor()
    await page.keyboard.press('/')
    await expect.poll(() => focused(page)).toContain('Search everything')
    await page.keyboard.type('Asia/Tokyo')
    await page.getByText('hits in').waitFor()
    await page.keyboard.press('ArrowDown')
    expect(await isSeen(page)).toBe(true)
    await page.keyboard.press('ArrowUp')
    expect(await focused(page)).toContain('Search everything')
    await page.keyboard.type(' current_time')
    await page.keyboard.press('Enter')
    await page.locator('.target').waitFor()
    await expect.poll(() => focused(page)).toContain('Asia/Tokyo')
    expect(await isSeen(page)).toBe(true)
    await page.keyboard.press('/')
    await expect.poll(() => focused(page)).toContain('Search everything')
  })

  test('a person opens a call from the timeline, opens and searches its output, and closes the output', async () => {
    const page = await opened.show('/sessions/second/timeline')
    await page.getByText('demo_report()').waitFor()
    await tabTo(page, 'demo_report()')
    await page.keyboard.press('Enter')
    await expect.poll(() => focused(page)).toContain('demo_report()')
    await tabTo(page, 'Open output')
    await page.keyboard.press('Enter')
    await page.getByRole('dialog').getByText('5,000 lines').waitFor()
    await tabTo(page, 'Search in this output')
    await page.keyboard.type('line 4321:')
    await page.getByText('Line 4,321: 1 of 1', { exact: true }).waitFor()
    await page.keyboard.press('Escape')
    await page.keyboard.press('Escape')
    await expect.poll(() => page.locator('dialog').count()).toBe(0)
    expect(await focused(page)).toBe('Open output')
  })

  test("a person skips the sessions, and expands a part of the model's context", async () => {
    const page = await opened.show('/sessions/second/context')
    await page.getByText('The next request').waitFor()
    await tabTo(page, 'Skip the sessions')
    await page.keyboard.press('Enter')
    await tabTo(page, '… more')
    await page.keyboard.press('Enter')
    expect(await focused(page)).toBe('Less')
  })

  test('a dialog returns the focus when it closes, and page shortcuts do not work in a dialog', async () => {
    const page = await opened.show('/sessions/second')
    await page.getByRole('button', { name: 'Export' }).focus()
    await page.keyboard.press('Enter')
    await page.getByRole('dialog').waitFor()
    await page.keyboard.press('j')
    expect(new URL(page.url()).pathname).toBe('/sessions/second')
    await page.keyboard.press('Escape')
    await expect.poll(() => page.locator('dialog').count()).toBe(0)
    expect(await focused(page)).toBe('Export')
  })
})
