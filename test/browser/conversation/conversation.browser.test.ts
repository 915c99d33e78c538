import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Page } from 'playwright-core'
import { openBrowser } from '../browser.ts'
import type { Opened } from '../browser.ts'

let opened: Opened
beforeAll(async () => {
  opened = await openBrowser()
})
afterAll(() => opened.close())

let sessions = 0
async function openSession(): Promise<{ readonly page: Page; readonly id: string }> {
  const id = `s-${++sessions}`
  await opened.client.createSession({ id })
  return { page: await opened.show(`/sessions/${id}`), id }
}

async function say(page: Page, text: string): Promise<void> {
  await page.getByLabel('Message', { exact: true }).fill(text)
  await page.keyboard.press('Enter')
}
const log = (page: Page) => page.getByRole('region', { name: 'Conversation' })

describe('a conversation', () => {
  test("starts with a new session, and shows the agent's text and tool calls", async () => {
    const page = await opened.show('/')
    await page.getByRole('button', { name: 'New session' }).click()
    await say(page, 'what time is it in Europe/Berlin')
    await log(page).getByText('current_time(timezone="Europe/Berlin")').waitFor()
    await log(page).getByText('current_time said:').waitFor()
    expect(await page.locator('.call .state').allTextContents()).toEqual(['completed'])
    // The first words become the title.
    await page.getByRole('heading', { name: 'what time is it in Europe/Berlin' }).waitFor()
  })

  test('is updated live in two windows', async () => {
    const { page, id } = await openSession()
    const other = await opened.show(`/sessions/${id}`)
    await say(page, 'wait 2 seconds')
    await log(other).getByText('demo_wait(seconds=2)').waitFor()
    await log(other).getByText('demo_wait said').waitFor()
    await log(page).getByText('demo_wait said').waitFor()
    expect(await log(other).locator('.entry').allTextContents()).toEqual(
      await log(page).locator('.entry').allTextContents(),
    )
  })

  test('continues after the program was killed during a run and restarted', async () => {
    const { page, id } = await openSession()
    await say(page, 'what time is it, then wait 3 seconds, then what time is it')
    await log(page).getByText('demo_wait(seconds=3)').waitFor()
    await opened.restart(() => page.getByText('The connection is lost').waitFor())
    await expect.poll(async () => (await opened.client.readSession(id)).run?.status).toBe('completed')
    const { data } = await opened.client.listMessages(id)
    const shown = log(page).locator('.entry')
    await expect.poll(() => shown.count()).toBe(data.filter(({ role }) => role !== 'tool').length)
    expect(await page.getByText('The connection is lost').count()).toBe(0)
    expect(await log(page).locator('details.call').count()).toBe(data.filter(({ role }) => role === 'tool').length)
  })

  test('requests a decision, and continues after it', async () => {
    const { page } = await openSession()
    await say(page, 'publish the report')
    await page.getByText('needs your decision').waitFor()
    await page.getByRole('button', { name: 'Deny' }).click()
    await expect.poll(() => page.locator('.call .state').allTextContents()).toEqual(['denied'])
    await say(page, 'publish the report')
    await page.getByRole('button', { name: 'Approve' }).click()
    await expect.poll(() => page.locator('.call .state').allTextContents()).toEqual(['denied', 'completed'])
  })

  test('requests the result of a client tool', async () => {
    const { page, id } = await openSession()
    const tools = [{ name: 'ask_boss', description: 'Asks the boss.', parameters: { type: 'object' } }]
    await opened.client.sendMessage(id, { content: 'use ask_boss with {"question": "Ship it?"}', tools })
    await page.getByLabel('Result of ask_boss').fill('Yes, before noon.')
    await page.getByRole('button', { name: 'Send result' }).click()
    await log(page).getByText('ask_boss said: Yes, before noon.').waitFor()
    expect((await opened.client.readSession(id)).run?.status).toBe('completed')
  })

  test('can be stopped; after a failure, it shows the reason and can be continued', async () => {
    const { page } = await openSession()
    await say(page, 'wait 50 seconds')
    await log(page).getByText('demo_wait(seconds=50)').waitFor()
    await page.getByRole('button', { name: 'Stop' }).click()
    await log(page).getByText('The run was cancelled.').waitFor()
    await say(page, 'fail once')
    await page.getByRole('alert').getByText('The demo model was asked to fail once: continue the session.').waitFor()
    await page.getByRole('button', { name: 'Continue' }).click()
    await log(page).getByText('Demo model (no real model)').last().waitFor()
    await expect.poll(() => page.getByRole('button', { name: 'Continue' }).count()).toBe(0)
  })

  test('queues an input during a run, or steers the run with it', async () => {
    const { page, id } = await openSession()
    await say(page, 'wait 3 seconds, then what time is it')
    await log(page).getByText('demo_wait(seconds=3)').waitFor()
    await say(page, 'this comes next')
    await page.getByLabel('While a run is active').selectOption('steer')
    await say(page, 'this steers')
    await expect
      .poll(async () => (await opened.client.listRuns(id)).data.every(({ status }) => status === 'completed'))
      .toBe(true)
    await expect.poll(() => log(page).locator('.entry.user:not(.pending)').count()).toBe(3)
    await expect.poll(() => log(page).locator('.pending').count()).toBe(0)
  })

  test('explains why a session cannot be shown', async () => {
    const page = await opened.show('/sessions/nowhere')
    const alert = page.getByRole('alert')
    await alert.getByText('This session does not exist.').waitFor()
    await page.getByRole('heading', { name: 'Session not found' }).waitFor()
    expect(await alert.getByText('session_not_found').isVisible()).toBe(false)
    await alert.getByText('Details').click()
    await alert.getByText('session_not_found').waitFor()
    expect(await page.getByLabel('Message', { exact: true }).count()).toBe(0)
  })
})
