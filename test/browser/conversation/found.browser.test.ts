import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openBrowser } from '../browser.ts'
import type { Opened } from '../browser.ts'

const HEIGHT = 800
const LONG = Array.from({ length: 120 }, (_, line) => `Paragraph ${line} of the **answer**.`)
/** Messages of one session: short messages, a long answer, and a call with its result. */
const MESSAGES = [
  ...Array.from({ length: 40 }, (_, turn) => [
    { role: 'user', content: `question ${turn}` },
    { role: 'assistant', content: `answer ${turn}` },
  ]).flat(),
  { role: 'user', content: 'Where is the amber lantern?' },
  { role: 'assistant', content: [...LONG, 'The **amber lantern** is in the `attic`.', ...LONG].join('\n\n') },
  { role: 'user', content: 'Look again.' },
  {
    role: 'assistant',
    content: 'I look.',
    tool_calls: [{ id: 'c1', type: 'function', function: { name: 'find', arguments: '{"what":"lantern"}' } }],
  },
  {
    role: 'tool',
    tool_call_id: 'c1',
    content: JSON.stringify({
      shelves: Array.from({ length: 150 }, (_, at) => ({
        at,
        rows: at === 140 ? [{ holds: 'a lantern' }] : [],
        a: 1,
        b: 2,
      })),
    }),
  },
  { role: 'assistant', content: 'It is on the last shelf, a brass lantern.' },
]

let opened: Opened
beforeAll(async () => {
  opened = await openBrowser()
  await opened.client.createSession({ id: 'lanterns' })
  const lines = MESSAGES.map((line) => JSON.stringify(line)).join('\n')
  await opened.client.importMessages('lanterns', lines, { format: 'openai' })
})
afterAll(() => opened.close())

/** Opens the newest message of a role, as a hit does. */
async function openFound(role: string, text: string, query: string): Promise<Page> {
  const { data } = await opened.client.listMessages('lanterns', { order: 'desc', limit: 20 })
  const found = data.find((one) => one.role === role && JSON.stringify(one).includes(text))
  return opened.show(`/sessions/lanterns?${query}#${found?.id ?? ''}`, { viewport: { width: 1280, height: HEIGHT } })
}

describe('a message that a search has found', () => {
  test.each([
    ['in the middle of a long answer', 'assistant', 'attic', 'words=amber+lantern', ['amber lantern']],
    [
      'in a result that is JSON, far down and closed',
      'tool',
      'holds',
      'words=lantern&in=Result',
      ['lantern', 'lantern'],
    ],
    ['at the end of the log', 'assistant', 'brass', 'words=brass', ['brass']],
  ])('is shown in the upper half with its words marked: %s', async (_where, role, text, query, marks) => {
    const page = await openFound(role, text, query)
    const target = page.locator('.target')
    await target.locator('mark').first().waitFor()
    const shown = await target.locator('mark').allTextContents()
    expect(shown.join(' ').toLowerCase()).toBe(marks.join(' '))
    const mark = target.locator('mark').last()
    await expect.poll(async () => (await mark.boundingBox())?.y).toBeLessThan(HEIGHT / 2)
    expect((await mark.boundingBox())?.y).toBeGreaterThan(0)
    // No word of any other message is marked.
    expect(await page.locator('mark').count()).toBe(shown.length)
  })

  test('is reported as missing if the session does not contain it; the log is shown at its end', async () => {
    const page = await opened.show('/sessions/lanterns#01JD2Q8N4T6W8Y0A2C00000000')
    await page.getByText('The message of this address is not in this session.').waitFor()
    await page.getByText('It is on the last shelf').waitFor()
    expect(await page.locator('.target').count()).toBe(0)
  })

  test('leaves no extra space at the end of the log after the next input', async () => {
    const page = await openFound('assistant', 'brass', 'words=brass')
    await page.locator('.target mark').waitFor()
    await page.getByLabel('Message', { exact: true }).fill('thank you')
    await page.keyboard.press('Enter')
    await page.getByText('you said "thank you"').waitFor()
    const gap = `(() => {
      const { bottom } = document.querySelector('.scroller').getBoundingClientRect()
      return bottom - [...document.querySelectorAll('.virtual-item')].at(-1).getBoundingClientRect().bottom
    })()`
    await expect.poll(async () => Number(await page.evaluate(gap))).toBeLessThan(60)
  })
})
