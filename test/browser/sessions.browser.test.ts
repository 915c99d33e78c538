import { readFileSync } from 'node:fs'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openBrowser } from './browser.ts'
import type { Opened } from './browser.ts'

/** A PNG of one pixel. */
const PIXEL = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==',
  'base64',
)

let opened: Opened
beforeAll(async () => {
  opened = await openBrowser()
  const { client } = opened
  for (const [id, owner, title] of [
    ['crates', 'mayor', 'Blue crates'],
    ['barrels', 'mayor', 'Red barrels'],
    ['ledger', 'clerk', 'The ledger'],
  ] as const)
    await client.createSession({
      ...{ id, owner, title },
      metadata: id === 'ledger' ? { folder: '/home/ann/books', source: 'codex' } : {},
    })
  for await (const _event of client.streamMessage('crates', { content: 'what time is it' })) continue
  for await (const _event of client.streamMessage('barrels', { content: 'publish the report' })) continue
})
afterAll(() => opened.close())

const log = (page: Page) => page.getByRole('region', { name: 'Conversation' })

describe('the list of sessions', () => {
  test('is filtered by words, by owner and by the status of the latest run', async () => {
    const page = await opened.show('/')
    const titles = () => page.locator('.session-title').allTextContents()
    await expect.poll(async () => (await titles()).toSorted()).toEqual(['Blue crates', 'Red barrels', 'The ledger'])
    await page.getByLabel('Filter sessions by title').fill('CRAT')
    await expect.poll(titles).toEqual(['Blue crates'])
    await page.getByLabel('Filter sessions by title').fill('')
    await page.getByText('Filters').click()
    await page.getByLabel('Program').selectOption('Codex')
    await expect.poll(titles).toEqual(['The ledger'])
    await page.getByLabel('Program').selectOption('any')
    await page.getByLabel('Folder').fill('/home/ann/*')
    await page.keyboard.press('Tab')
    await expect.poll(titles).toEqual(['The ledger'])
    await page.getByLabel('Folder').fill('')
    await page.keyboard.press('Tab')
    await page.getByLabel('Latest run').selectOption('paused')
    await expect.poll(titles).toEqual(['Red barrels'])
    await page.getByLabel('Latest run').selectOption('any')
    await page.getByLabel('Owner', { exact: true }).fill('clerk')
    await page.keyboard.press('Tab')
    await expect.poll(titles).toEqual(['The ledger'])
  })

  test('is shown even if each response takes longer than the polling interval', async () => {
    const page = await opened.show('/new')
    await page.route('**/v1/sessions?*', async (route) => {
      await new Promise((resolve) => setTimeout(resolve, 3_500))
      await route.continue()
    })
    await page.reload()
    await page.locator('.session-row').first().waitFor({ timeout: 15_000 })
    expect(await page.locator('.session-row').count()).toBeGreaterThan(2)
  })

  test('is filtered and navigated by keyboard, and omits a deleted session at once', async () => {
    const several = await openBrowser()
    try {
      for (let at = 0; at < 60; at++) await several.client.createSession({ id: `one-${at}`, title: `Number ${at}` })
      const page = await several.show('/')
      await page.getByRole('button', { name: 'Older sessions' }).click()
      await page.getByText('Number 3', { exact: true }).click()
      await page.getByRole('button', { name: 'Delete', exact: true }).click()
      await page.getByRole('button', { name: 'Delete for good' }).click()
      await page.waitForURL(`${several.url}/`)
      await expect.poll(() => page.getByText('Number 3', { exact: true }).count()).toBe(0)
      expect(await page.locator('.session-row').count()).toBe(59)
      await page.getByLabel('Filter sessions by title').fill('number 5')
      await expect.poll(() => page.locator('.session-row').count()).toBe(11)
      await page.evaluate('document.activeElement.blur()')
      await page.keyboard.press('j')
      await page.keyboard.press('k')
      await page.waitForURL('**/sessions/one-59')
      for (let step = 0; step < 12; step++) await page.keyboard.press('j')
      await page.waitForURL('**/sessions/one-5')
    } finally {
      await several.close()
    }
  })

  test('finds sessions far beyond the loaded part by words of their titles, with a small response', async () => {
    const several = await openBrowser()
    try {
      await several.client.createSession({ id: 'first', title: 'The oldest of all' })
      await Promise.all(Array.from({ length: 60 }, () => several.client.createSession({ title: 'Another' })))
      const page = await several.show('/')
      await expect.poll(() => page.locator('.session-row').count()).toBe(50)
      const answer = page.waitForResponse('**/v1/sessions?*q=oldest*')
      await page.getByLabel('Filter sessions by title').fill('oldest')
      expect((await (await answer).body()).length).toBeLessThan(1_500)
      await expect.poll(() => page.locator('.session-title').allTextContents()).toEqual(['The oldest of all'])
      await page.getByText('1 session fits.').waitFor()
      await page.getByRole('link', { name: 'Search what was said' }).click()
      await page.waitForURL(`${several.url}/search?q=oldest`)
    } finally {
      await several.close()
    }
  })

  test('shows a session as soon as another window creates it, with the status of its run', async () => {
    const page = await opened.show('/')
    const { id } = await opened.client.createSession({ title: 'A late one' })
    const row = page.locator(`.session-row[href="/sessions/${id}"]`)
    await expect.poll(() => row.locator('.dot').getAttribute('title')).toBe('no run yet')
    await opened.client.sendMessage(id, { content: 'publish the report' })
    await expect.poll(() => row.locator('.dot').getAttribute('title')).toBe('paused')
    await opened.client.deleteSession(id)
  })

  test('distinguishes a cancelled run from a waiting one', async () => {
    const { id } = await opened.client.createSession({ title: 'Given up' })
    const { id: run } = await opened.client.sendMessage(id, { content: 'wait 50 seconds' })
    await opened.client.cancelRun(id, run)
    const page = await opened.show('/')
    const look = (session: string): Promise<string[]> =>
      page.evaluate(`(() => {
        const dot = document.querySelector('.session-row[href="/sessions/${session}"] .dot')
        return [dot?.title, dot === null ? '' : getComputedStyle(dot).backgroundColor]
      })()`)
    await expect.poll(async () => (await look(id))[0]).toBe('cancelled')
    const [[, cancelled], [status, paused]] = [await look(id), await look('barrels')]
    expect([status, cancelled === paused]).toEqual(['paused', false])
    await opened.client.deleteSession(id)
  })
})

describe('a session', () => {
  test('shows its views and an export in a narrow window; a missing session has neither', async () => {
    const page = await opened.show('/sessions/crates', { viewport: { width: 360, height: 640 } })
    const tabs = page.getByRole('navigation', { name: 'Views of this session' }).getByRole('link')
    await tabs.last().waitFor()
    for (const tab of await tabs.all()) {
      const box = await tab.boundingBox()
      expect(Math.round((box?.x ?? 360) + (box?.width ?? 0))).toBeLessThanOrEqual(360)
    }
    await page.goto(`${opened.url}/sessions/nope`)
    await page.getByRole('alert').getByText('This session does not exist.').waitFor()
    expect([await tabs.count(), await page.getByRole('button', { name: 'Export' }).count()]).toEqual([0, 0])
  })

  test.each([
    ['Markdown', 'md', /^# Blue crates\n/],
    ['Chat Completions', 'jsonl', /^\{"role":"system",.*\}\n\{"role":"user","content":"what time is it"\}\n/],
    ['Everything', 'jsonl', /^\{"object":"session","id":"crates"/],
  ])('is exported as a file: %s', async (name, ending, begins) => {
    const page = await opened.show('/sessions/crates')
    await page.getByRole('button', { name: 'Export' }).click()
    const [saved] = await Promise.all([page.waitForEvent('download'), page.getByRole('button', { name }).click()])
    expect(saved.suggestedFilename()).toBe(`crates.${ending}`)
    expect(readFileSync(await saved.path(), 'utf8')).toMatch(begins)
    await expect.poll(() => page.locator('dialog').count()).toBe(0)
  })

  test('is forked, and the reason is shown if this fails', async () => {
    const page = await opened.show('/sessions/crates')
    await page.getByRole('button', { name: 'Export' }).click()
    await page.getByRole('button', { name: 'Fork' }).click()
    await page.waitForURL((url) => url.pathname.startsWith('/sessions/') && url.pathname !== '/sessions/crates')
    await log(page).getByText('current_time said:').waitFor()
    const [fork] = (await opened.client.listSessions({ limit: 1, sort: 'created_at' })).data
    expect([fork?.forked_from?.session_id, page.url()]).toEqual(['crates', `${opened.url}/sessions/${fork?.id ?? ''}`])
    await page.goto(`${opened.url}/sessions/ledger`)
    await page.getByRole('button', { name: 'Export' }).click()
    await page.getByRole('button', { name: 'Fork' }).click()
    await page.getByRole('dialog').getByText('there is nothing to copy yet').waitFor()
  })

  test('accepts files with a text, shows them, and rejects a file that is too large', async () => {
    const page = await opened.show('/sessions/ledger')
    const attach = page.getByLabel('Attach')
    await attach.setInputFiles([
      { name: 'pixel.png', mimeType: 'image/png', buffer: PIXEL },
      { name: 'notes.csv', mimeType: 'text/csv', buffer: Buffer.from('crate,colour\n1,blue\n') },
      { name: 'wrong.txt', mimeType: 'text/plain', buffer: Buffer.from('not this') },
    ])
    await page.getByRole('button', { name: 'Remove wrong.txt' }).click()
    await page.getByLabel('Message', { exact: true }).fill('look at these')
    await page.getByRole('button', { name: 'Send' }).click()
    await expect.poll(() => page.getByLabel('Attached files').count()).toBe(0)
    const input = log(page).locator('.entry.user').last()
    await input.getByText('look at these').waitFor()
    await input.locator('img').waitFor()
    await input.getByText('notes.csv').waitFor()
    const { data } = await opened.client.listMessages('ledger')
    expect(data[0]?.parts.map((part) => ('media_type' in part ? part.media_type : part.type))).toEqual([
      'text',
      'image/png',
      'text/csv',
    ])
    await attach.setInputFiles([{ name: 'large.bin', mimeType: 'application/x', buffer: Buffer.alloc(5_000_000) }])
    await page.getByLabel('Attached files').getByRole('alert').waitFor()
    expect(await page.getByRole('button', { name: 'Send' }).isDisabled()).toBe(true)
  })

  test('is deleted after a confirmation, and the reason is shown if the deletion fails', async () => {
    const { id } = await opened.client.createSession({ title: 'A mistake' })
    const page = await opened.show(`/sessions/${id}`)
    await page.getByRole('button', { name: 'Delete' }).click()
    await page.getByRole('dialog').getByText('A mistake').waitFor()
    await page.getByRole('button', { name: 'Keep it' }).click()
    expect((await opened.client.readSession(id)).title).toBe('A mistake')
    await page.getByRole('button', { name: 'Delete' }).click()
    await page.getByRole('button', { name: 'Delete for good' }).click()
    await page.waitForURL(`${opened.url}/`)
    await expect.poll(() => page.locator(`.session-row[href="/sessions/${id}"]`).count()).toBe(0)
    await expect(opened.client.readSession(id)).rejects.toMatchObject({ code: 'session_not_found' })
    await page.goto(`${opened.url}/sessions/ledger`)
    await page.route('**/v1/sessions/ledger', (route) =>
      route.request().method() === 'DELETE' ? route.abort() : route.continue(),
    )
    await page.getByRole('button', { name: 'Delete' }).click()
    await page.getByRole('button', { name: 'Delete for good' }).click()
    await page.getByRole('dialog').getByRole('alert').getByText('Tooltrail does not respond.').waitFor()
  })

  test('shows the program and the model of imported messages', async () => {
    const { client } = opened
    const { id } = await client.createSession({ title: 'From elsewhere', metadata: { source: 'claude-code' } })
    const lines = [
      { role: 'user', content: 'hello' },
      { role: 'assistant', content: 'good day', model: 'claude-sonnet-5-5' },
    ]
    await client.importMessages(id, lines.map((line) => JSON.stringify(line)).join('\n'), { format: 'openai' })
    const page = await opened.show(`/sessions/${id}`)
    const head = log(page).locator('.entry.assistant header')
    await expect.poll(() => head.locator('.who').textContent()).toBe('Claude Code')
    expect(await head.locator('.model').textContent()).toBe('claude-sonnet-5-5')
    expect(await log(page).getByText('default', { exact: true }).count()).toBe(0)
    await client.deleteSession(id)
  })

  test('has a link for each of its messages', async () => {
    const page = await opened.show('/sessions/crates')
    await log(page).locator('.entry .when time').last().click()
    const { data } = await opened.client.listMessages('crates')
    expect(page.url()).toBe(`${opened.url}/sessions/crates#${data.at(-1)?.id ?? ''}`)
    const other = await page.context().newPage()
    await other.goto(page.url())
    await other.locator('.entry.target').getByText('current_time said:').waitFor()
  })

  test('looks the same in two tabs of one person, whichever tab writes to it', async () => {
    const { id } = await opened.client.createSession({})
    const page = await opened.show(`/sessions/${id}`)
    const other = await page.context().newPage()
    await other.goto(page.url())
    for (const [tab, text] of [
      [page, 'from the one'],
      [other, 'from the other'],
    ] as const) {
      await tab.getByLabel('Message', { exact: true }).fill(text)
      await tab.keyboard.press('Enter')
      for (const both of [page, other]) await log(both).getByText(`you said "${text}"`).waitFor()
    }
    expect(await log(other).locator('.entry').allTextContents()).toEqual(
      await log(page).locator('.entry').allTextContents(),
    )
  })
})

test('costs name the month of each price list', async () => {
  const page = await opened.show('/usage')
  await expect
    .poll(() => page.locator('.usage > p').textContent())
    .toContain('list prices (anthropic: November 2026, openai: June 2026)')
})
