import type { BrowserContextOptions, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openBrowser } from './browser.ts'
import type { Opened } from './browser.ts'

const SESSIONS = 60
const PHONE = { viewport: { width: 390, height: 800 }, hasTouch: true, isMobile: true } as const

let opened: Opened
beforeAll(async () => {
  opened = await openBrowser()
  const { client } = opened
  for (let at = 0; at < SESSIONS; at++) {
    const { id } = await client.createSession({ id: `one-${at}`, owner: 'mayor' })
    await client.sendMessage(id, { content: `crate ${at} ${'and a long title '.repeat(at % 5)}` })
  }
  for await (const _event of client.streamMessage('one-0', { content: 'write a long report' })) continue
})
afterAll(() => opened.close())

/** Returns the pixels by which the document is higher and wider than its window. */
const overflow = (page: Page): Promise<unknown> =>
  page.evaluate(
    '({ scrollHeight, scrollWidth, clientWidth } = document.documentElement, [Math.max(0, scrollHeight - innerHeight), scrollWidth - clientWidth])',
  )

describe.each([1440, 1024, 390])('in a window of %i pixels', (width) => {
  test.each([
    ['/', 'Choose a session'],
    ['/new', 'It begins with your first message'],
    ['/sessions/one-0', 'demo_report said'],
    ['/sessions/one-0/timeline', 'demo_report()'],
    ['/sessions/one-0/context', 'The next request'],
    ['/sessions/nowhere', 'This session does not exist.'],
    ['/search', 'Find anything'],
    ['/search?q=crate&owner=mayor', 'hits'],
    ['/usage', 'By agent'],
    ['/nothing/here', 'There is nothing at this address'],
  ])('the view %s does not overflow', async (path, shown) => {
    const page = await opened.show(path, width === 390 ? PHONE : { viewport: { width, height: 900 } })
    await page.locator('.main').getByText(shown).first().waitFor()
    await expect.poll(() => page.locator('.session-row').count()).toBeGreaterThanOrEqual(50)
    expect(await overflow(page)).toEqual([0, 0])
  })
})

test('the focus ring of a title being changed is fully visible', async () => {
  const page = await opened.show('/sessions/one-0')
  await page.locator('button.title').click()
  const cut = await page.evaluate(`(() => {
    const field = document.activeElement
    const { outlineWidth, outlineOffset } = getComputedStyle(field)
    const ring = parseFloat(outlineWidth) + parseFloat(outlineOffset)
    const { left, top, right, bottom } = field.getBoundingClientRect()
    for (let box = field.parentElement; box !== null; box = box.parentElement) {
      if (getComputedStyle(box).overflow === 'visible') continue
      const around = box.getBoundingClientRect()
      if (left - ring < around.left || top - ring < around.top) return box.className
      if (right + ring > around.right || bottom + ring > around.bottom) return box.className
    }
    return [field.className, ring > 0]
  })()`)
  expect(cut).toEqual(['title-field', true])
})

describe('on a phone', () => {
  const focused = (page: Page): Promise<unknown> => page.evaluate('document.activeElement.tagName')

  test('the keyboard does not open by itself over hits or a conversation', async () => {
    const page = await opened.show('/search?q=crate', PHONE)
    await page.locator('.hit').first().waitFor()
    expect(await focused(page)).toBe('BODY')
    await page.getByRole('searchbox', { name: 'Search everything' }).fill('crate 7')
    await page.keyboard.press('Enter')
    expect([await focused(page), new URL(page.url()).pathname]).toEqual(['BODY', '/search'])
    await page.goto(`${opened.url}/sessions/one-0`)
    await page.getByText('demo_report said').waitFor()
    expect(await focused(page)).toBe('BODY')
    await page.goto(`${opened.url}/search`)
    await expect.poll(() => focused(page)).toBe('INPUT')
  })
})

test("the list names its days in the browser's language", async () => {
  const names = async (options: BrowserContextOptions): Promise<string[]> => {
    const page = await opened.show('/', options)
    await page.locator('.day h2').first().waitFor()
    return page.locator('.day h2').allTextContents()
  }
  // If midnight passes during the test, the sessions are from yesterday.
  expect(await names({ locale: 'de-DE' })).toContainEqual(expect.stringMatching(/^(?:Heute|Gestern)$/))
  expect(await names({ locale: 'en-US' })).toContainEqual(expect.stringMatching(/^(?:Today|Yesterday)$/))
})
