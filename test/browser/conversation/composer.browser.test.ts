import { execFileSync } from 'node:child_process'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openBrowser } from '../browser.ts'
import type { Opened } from '../browser.ts'

const FALSE_IMAGE = { name: 'bad.png', mimeType: 'image/png', buffer: Buffer.from('no picture, but words') }

let opened: Opened
beforeAll(async () => {
  opened = await openBrowser()
})
afterAll(() => opened.close())

async function openSession(): Promise<{ readonly page: Page; readonly id: string }> {
  const { id } = await opened.client.createSession({})
  return { page: await opened.show(`/sessions/${id}`), id }
}

const field = (page: Page) => page.getByLabel('Message', { exact: true })
const log = (page: Page) => page.getByRole('region', { name: 'Conversation' })
const pending = (page: Page) => log(page).locator('.pending')

async function say(page: Page, text: string): Promise<void> {
  await field(page).fill(text)
  await page.keyboard.press('Enter')
}

describe('an input that is refused', () => {
  test('is restored with its files, and the error names the refused file', async () => {
    const { page, id } = await openSession()
    await page.getByLabel('Attach').setInputFiles([FALSE_IMAGE])
    await say(page, 'look at this')
    const alert = log(page).getByRole('alert')
    await alert.getByText('bad.png is no image').waitFor()
    expect(await alert.textContent()).not.toContain('body.content')
    expect(await field(page).inputValue()).toBe('look at this')
    await page.getByRole('button', { name: 'Remove bad.png' }).click()
    await page.keyboard.press('c')
    await page.keyboard.press('Enter')
    await log(page).getByText('you said "look at this"').waitFor()
    expect((await opened.client.listRuns(id)).data.length).toBe(1)
  })

  test('is placed before later text, and waiting inputs keep their order', async () => {
    const { page } = await openSession()
    await say(page, 'wait 12 seconds')
    await log(page).getByText('demo_wait(seconds=12)').waitFor()
    await say(page, 'queued A')
    await pending(page).getByText('sent', { exact: true }).waitFor()
    await page.getByLabel('Attach').setInputFiles([FALSE_IMAGE])
    await page.route('**/messages', async (route) => {
      await field(page).fill('written since')
      await route.continue()
    })
    await say(page, 'refused B')
    await log(page).getByRole('alert').getByText('bad.png is no image').waitFor()
    expect(await pending(page).locator('.said').allTextContents()).toEqual(['queued A'])
    expect(await field(page).inputValue()).toBe('refused B\n\nwritten since')
    await page.getByRole('button', { name: 'Remove bad.png' }).waitFor()
    await page.getByRole('button', { name: 'Stop' }).click()
  })

  test('is restored in its session when the person has opened another session', async () => {
    const { page, id } = await openSession()
    const other = await opened.client.createSession({ title: 'Another one' })
    const row = page.locator(`.session-row[href="/sessions/${other.id}"]`)
    await row.waitFor()
    const held = Promise.withResolvers<void>()
    await page.route('**/messages', async (route) => {
      await held.promise
      await route.continue()
    })
    await page.getByLabel('Attach').setInputFiles([FALSE_IMAGE])
    await say(page, 'look at this')
    await pending(page).waitFor()
    await row.click()
    await page.waitForURL(`${opened.url}/sessions/${other.id}`)
    const refused = page.waitForResponse((response) => response.status() === 422)
    held.resolve()
    await refused
    expect(await field(page).inputValue()).toBe('')
    await page.goBack()
    await page.waitForURL(`${opened.url}/sessions/${id}`)
    await expect.poll(() => field(page).inputValue()).toBe('look at this')
  })

  test('is restored if the key may not write, or has too many active runs', async () => {
    const keyed = await openBrowser()
    try {
      const { id } = await keyed.client.createSession({})
      const busy = await keyed.client.createSession({})
      for (const [options, words] of [
        [['--scope', 'read'], 'This key lacks the scope write.'],
        [['--scope', 'read', '--scope', 'write', '--active-runs', '1'], 'This key may have 1 run'],
      ] as const) {
        const made = execFileSync(
          process.execPath,
          ['functions/cli/tooltrail.ts', 'keys', 'create', '--tenant', 'default', ...options],
          { env: { ...process.env, TOOLTRAIL_DATA: keyed.folder }, encoding: 'utf8' },
        )
        const page = await keyed.show(`/sessions/${busy.id}`)
        await page.getByLabel('API key').fill(/tt_\S+/.exec(made)?.[0] ?? '')
        await page.getByRole('button', { name: 'Open' }).click()
        await say(page, 'wait 20 seconds')
        if (options.length > 2) {
          await log(page).getByText('demo_wait(seconds=20)').waitFor()
          await page.goto(`${keyed.url}/sessions/${id}`)
          await say(page, 'one more')
        }
        await log(page).getByRole('alert').getByText(words).waitFor()
        expect(await pending(page).count()).toBe(0)
        expect(await field(page).inputValue()).toMatch(/^(?:one more|wait 20 seconds)$/)
      }
    } finally {
      await keyed.close()
    }
  })

  test("with an empty file is refused before it is sent, with the file's name", async () => {
    const { page } = await openSession()
    const nothing = { name: 'nothing.txt', mimeType: 'text/plain', buffer: Buffer.alloc(0) }
    await page.getByLabel('Attach').setInputFiles([nothing])
    expect(await page.getByLabel('Attached files').getByRole('alert').textContent()).toBe('nothing.txt is empty')
    expect(await page.getByRole('button', { name: 'Send' }).isDisabled()).toBe(true)
  })
})

describe('while the server is down', () => {
  test('an input is shown as being sent until the server has stored it', async () => {
    const { page, id } = await openSession()
    await say(page, 'first')
    await log(page).getByText('you said "first"').waitFor()
    // The run must end first. Otherwise, the page would put the input back into the input field.
    await page.getByRole('button', { name: 'Stop' }).waitFor({ state: 'detached' })
    await opened.restart(async () => {
      await say(page, 'second')
      await page.getByText('The connection is lost').waitFor()
      expect(await pending(page).locator('.when').allTextContents()).toEqual(['sending…'])
    })
    await log(page).getByText('you said "second"').waitFor()
    expect(await pending(page).count()).toBe(0)
    expect((await opened.client.listRuns(id)).data.length).toBe(2)
  })

  test('an input to a run is restored in the field', async () => {
    const { page } = await openSession()
    await say(page, 'wait 4 seconds')
    await log(page).getByText('demo_wait(seconds=4)').waitFor()
    await opened.restart(async () => {
      await page.getByText('The connection is lost').waitFor()
      await say(page, 'what comes next')
      await log(page).getByRole('alert').getByText('Tooltrail does not respond.').waitFor()
      expect(await pending(page).count()).toBe(0)
      expect(await field(page).inputValue()).toBe('what comes next')
    })
  })
})

test('the page warns, also in screen readers, that a message cancels the waiting calls', async () => {
  const { page } = await openSession()
  expect(await field(page).getAttribute('aria-describedby')).toBeNull()
  await say(page, 'publish the report')
  await page.getByText('A message cancels the call of demo_publish that waits for you.').waitFor()
  const described = (await field(page).getAttribute('aria-describedby')) ?? ''
  expect(await page.locator(`#${described}`).textContent()).toContain('A message cancels the call of demo_publish')
  // The waiting calls appear as cancelled during the run of the message that cancels them.
  await say(page, 'wait 30 seconds')
  await log(page).getByText('demo_wait(seconds=30)').waitFor()
  await page.locator('.call .state.cancelled').waitFor({ timeout: 5_000 })
  expect(await page.locator('.call .state').allTextContents()).toEqual(['cancelled', 'running'])
  expect(await page.getByText('A message cancels').count()).toBe(0)
})

describe('an input to a run', () => {
  test('is stored once if the response is lost and the page sends the input again', async () => {
    const { page, id } = await openSession()
    await say(page, 'wait 8 seconds')
    await log(page).getByText('demo_wait(seconds=8)').waitFor()
    await page.route('**/messages', async (route) => {
      await route.fetch()
      await route.abort()
    })
    await say(page, 'pay the bill')
    await log(page).getByRole('alert').waitFor()
    expect(await field(page).inputValue()).toBe('pay the bill')
    await page.unroute('**/messages')
    await page.keyboard.press('Enter')
    await log(page).getByText('you said "pay the bill"').waitFor()
    expect(await log(page).locator('.said').allTextContents()).toEqual(['wait 8 seconds', 'pay the bill'])
    expect((await opened.client.listRuns(id)).data.length).toBe(2)
  })

  test('is shown while the input is queued, also in a window opened later, and after the input ran', async () => {
    const { page, id } = await openSession()
    await say(page, 'wait 9 seconds')
    await log(page).getByText('demo_wait(seconds=9)').waitFor()
    await say(page, 'runs next')
    await pending(page).getByText('sent', { exact: true }).waitFor()
    await page.reload()
    await pending(page).getByText('runs next').waitFor()
    expect(await pending(page).count()).toBe(1)
    await log(page).getByText('you said "runs next"').waitFor()
    expect(await pending(page).count()).toBe(0)
    expect((await opened.client.listRuns(id)).data.length).toBe(2)
  })
})

describe('text that a person is typing is kept', () => {
  test('in the title, while a run changes the session', async () => {
    const { id } = await opened.client.createSession({ title: 'Old title' })
    const page = await opened.show(`/sessions/${id}`)
    await page.getByRole('button', { name: 'Old title' }).waitFor()
    await opened.client.sendMessage(id, { content: 'wait 2 seconds' })
    await page.getByRole('button', { name: 'Old title' }).click()
    await page.getByLabel('Title', { exact: true }).fill('A better title')
    await log(page).locator('.entry.assistant').nth(1).waitFor()
    expect(await page.getByLabel('Title', { exact: true }).inputValue()).toBe('A better title')
    await page.keyboard.press('Enter')
    await expect.poll(async () => (await opened.client.readSession(id)).title).toBe('A better title')
  })

  test('in a filter, while the list is updated', async () => {
    const page = await opened.show('/')
    await page.getByText('Filters').click()
    const owner = page.getByLabel('Owner', { exact: true })
    await owner.pressSequentially('may')
    await page.waitForResponse('**/v1/sessions?*')
    await page.waitForResponse('**/v1/sessions?*')
    expect(await owner.inputValue()).toBe('may')
    const filtered = page.waitForRequest((request) => request.url().includes('owner=may'))
    await page.keyboard.press('Enter')
    await filtered
    expect(await owner.inputValue()).toBe('may')
  })

  test('in the result of a call, while another view is shown', async () => {
    const { page, id } = await openSession()
    const tools = [{ name: 'ask_boss', description: 'Asks the boss.', parameters: { type: 'object' } }]
    await opened.client.sendMessage(id, { content: 'use ask_boss with {}', tools })
    await page.getByLabel('Result of ask_boss').fill('Yes, before noon')
    await page.getByRole('link', { name: 'Timeline' }).click()
    await page.getByRole('region', { name: 'Timeline' }).waitFor()
    await page.getByRole('link', { name: 'Conversation' }).click()
    await page.getByLabel('Result of ask_boss').waitFor()
    expect(await page.getByLabel('Result of ask_boss').inputValue()).toBe('Yes, before noon')
  })
})
