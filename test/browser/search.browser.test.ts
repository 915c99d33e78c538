import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { openBrowser } from './browser.ts'
import type { Opened } from './browser.ts'

let opened: Opened
beforeAll(async () => {
  opened = await openBrowser()
  const { client } = opened
  const said = { first: 'a blue crate for the mayor', second: 'a red barrel for the mayor' }
  for (const id of ['first', 'second'] as const) {
    await client.createSession({ id, owner: id, title: id })
    for (let turn = 0; turn < 30; turn++)
      await client.sendMessage(id, { content: turn === 7 ? said[id] : `number ${turn}` })
    for await (const _event of client.streamMessage(id, { content: 'write a long report' })) continue
  }
})
afterAll(() => opened.close())

describe('the search', () => {
  test('opens with /, searches while the person types, marks words, and opens a hit by keyboard', async () => {
    const page = await opened.show('/')
    await page.getByText('Choose a session').waitFor()
    await page.keyboard.press('/')
    await page.keyboard.type('red barrel')
    await expect.poll(() => page.locator('.hit .snippet').first().textContent()).toContain('red barrel')
    expect(await page.locator('.hit mark').count()).toBeGreaterThan(0)
    await page.keyboard.press('ArrowDown')
    await expect.poll(() => page.locator('.hit-group:focus-within .hit-session').allTextContents()).toEqual(['second'])
    await page.keyboard.press('Enter')
    const target = page.locator('.entry.target')
    await target.getByText('a red barrel for the mayor').first().waitFor()
    await expect
      .poll(async () => {
        const box = await target.boundingBox()
        return box !== null && box.y > 0 && box.y < 700
      })
      .toBe(true)
    expect(new URL(page.url()).pathname).toBe('/sessions/second')
  })

  test('keeps its query in the address, filters hits, and shows their neighbours', async () => {
    const page = await opened.show('/search?q=crate&owner=first')
    await page.getByText(/hits? in 1 session/).waitFor()
    expect(new Set(await page.locator('.hit-session').allTextContents())).toEqual(new Set(['first']))
    expect(await page.locator('.hit .neighbour').count()).toBeGreaterThan(0)
    await page.getByRole('button', { name: 'tool results' }).click()
    await expect
      .poll(async () => new Set(await page.locator('.hit header .label').allTextContents()))
      .toEqual(new Set(['tool result']))
    expect(page.url()).toContain('role=tool_result')
    await page.getByRole('searchbox', { name: 'Search everything' }).fill('zzzz-nothing')
    await page.getByText('Nothing found').waitFor()
  })

  test('shows a chip for the time in the query; the chip can be removed at every width', async () => {
    const today = new Date().toLocaleDateString('en-US', { day: 'numeric', month: 'short', year: 'numeric' })
    for (const width of [360, 800, 1_400]) {
      const options = { locale: 'en-US', viewport: { width, height: 800 } }
      const page = await opened.show('/search?q=blue%20crate%20today', options)
      const chip = page.getByRole('button', { name: `Do not prefer ${today}` })
      await chip.waitFor()
      const box = await chip.boundingBox()
      expect((box?.x ?? 0) + (box?.width ?? Infinity)).toBeLessThanOrEqual(width)
      expect(box?.height ?? 0).toBeLessThan(60)
      await chip.click()
      await expect.poll(() => page.url()).toContain('dates=words')
      await page.getByRole('button', { name: 'Read dates again' }).click()
      await chip.waitFor()
      expect(page.url()).not.toContain('dates=')
    }
  })

  test('groups hits by session without reading the sessions, and links to the further hits', async () => {
    const { client } = opened
    // The id of a deleted session stays taken, so each attempt uses a new id.
    const id = randomUUID()
    onTestFinished(async () => void (await client.deleteSession(id)))
    await client.createSession({
      ...{ id, title: 'The lantern' },
      metadata: { folder: '/home/ann/lights', source: 'codex' },
    })
    for (const colour of ['green', 'amber', 'brass']) await client.sendMessage(id, { content: `a ${colour} lantern` })
    await client.sendMessage('first', { content: 'no lantern here' })
    const page = await opened.show('/')
    await page.getByText('Choose a session').waitFor()
    const reads: string[] = []
    page.on('request', (request) => reads.push(new URL(request.url()).pathname))
    await page.keyboard.press('/')
    await page.keyboard.type('lantern')
    const titles = () => page.locator('.hit-session').allTextContents()
    await expect.poll(async () => (await titles()).toSorted()).toEqual(['The lantern', 'first'])
    expect(reads.filter((path) => path.startsWith('/v1/sessions/'))).toEqual([])
    const group = page.locator('.hit-group', { hasText: 'The lantern' })
    await group.locator('.hit-folder').getByText('lights').waitFor()
    expect(await group.locator('.hit').count()).toBe(1)
    await group.getByRole('link', { name: 'more from this session' }).click()
    await expect.poll(titles).toEqual(['The lantern'])
    await expect.poll(() => page.locator('.hit').count()).toBeGreaterThan(2)
    await page.goto(`${opened.url}/search?q=lantern&folder=%2Fhome%2F*&source=codex`)
    await expect.poll(titles).toEqual(['The lantern'])
    await page.locator('.search-filters').getByLabel('program').selectOption('Claude Code')
    await page.getByText('Nothing found').waitFor()
  })

  test('orders hits by time on request', async () => {
    const page = await opened.show('/search?q=number&session=first')
    await page.locator('.hit').first().waitFor()
    const first = () => page.locator('.hit .snippet').first().textContent()
    await page.getByLabel('Order of the hits').selectOption('oldest first')
    await expect.poll(first).toContain('number 0')
    await page.getByLabel('Order of the hits').selectOption('newest first')
    await expect.poll(first).toContain('number 29')
    expect(page.url()).toContain('sort=newest')
  })

  test('opens a hit with its words marked, from an address that can be shared', async () => {
    const page = await opened.show('/search?q=red%20barrel&role=user')
    await page.locator('.hit a').first().click()
    await page.locator('.entry.target mark').first().waitFor()
    const { pathname, searchParams } = new URL(page.url())
    expect([pathname, searchParams.get('words')?.toLowerCase()]).toEqual(['/sessions/second', 'red barrel'])
    expect(await page.locator('.target mark').allTextContents()).toEqual(['red', 'barrel'])
  })

  test('explains an invalid filter', async () => {
    const page = await opened.show('/search?q=crate&since=yesterday')
    await page.getByRole('alert').getByText('Since must be a date such as 2026-11-14').waitFor()
    expect(await page.getByText('Nothing found').count()).toBe(0)
  })
})

describe('a call', () => {
  test('shows its whole output page by page, finds lines in it, and offers a download', async () => {
    const page = await opened.show('/sessions/first')
    await page.getByText('demo_report()').click()
    await page.getByRole('button', { name: 'Open output' }).click()
    await page.getByRole('dialog').getByText('5,000 lines').waitFor()
    await page.getByLabel('Search in this output').fill('line 4321:')
    await page.getByText('Line 4,321: 1 of 1', { exact: true }).waitFor()
    expect(await page.locator('.line.found').textContent()).toContain('line 4321:')
    const [saved] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Download' }).click(),
    ])
    expect(saved.suggestedFilename()).toMatch(/^[0-9A-Z]{26}\.txt$/)
    await page.getByLabel('Search in this output').fill('line 43')
    await page.getByText('Line 43: 1 of 111', { exact: true }).waitFor()
    await page.keyboard.press('Enter')
    await page.getByText('Line 430: 2 of 111', { exact: true }).waitFor()
    expect(await page.locator('.line.found').textContent()).toContain('line 430:')
    await page.getByLabel('Search in this output').fill('not in there')
    await page.getByText('Not in this output').waitFor()
    await page.getByRole('button', { name: 'Close' }).click()
    await expect.poll(() => page.locator('dialog').count()).toBe(0)
  })

  test('has a bar in the timeline that links to it', async () => {
    const page = await opened.show('/sessions/first/timeline')
    await page.getByTitle(/^demo_report\(\): completed/).click()
    await page.locator('details.call.target').getByText('Arguments').waitFor()
    expect(page.url()).toMatch(/\/sessions\/first#[0-9A-Z]{26}$/)
  })
})
