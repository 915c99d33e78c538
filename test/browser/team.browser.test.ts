/* Evidence, page: Each member's work is shown below its delegate call, even if ids repeat. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openBrowser } from './browser.ts'
import type { Opened } from './browser.ts'

const AGENTS = { default: { members: ['clerk'] }, clerk: { tools: ['current_time'] } }

const folder = mkdtempSync(join(tmpdir(), 'tooltrail-team-'))
let opened: Opened
beforeAll(async () => {
  const file = join(folder, 'agents.json')
  writeFileSync(file, JSON.stringify({ agents: AGENTS }))
  opened = await openBrowser({ TOOLTRAIL_AGENTS: file })
  await opened.client.createSession({ id: 'team' })
})
afterAll(async () => {
  await opened.close()
  rmSync(folder, { recursive: true })
})

test('a session starts with its first message, for the chosen agent', async () => {
  const { client } = opened
  const before = (await client.listSessions()).data.length
  const page = await opened.show('/')
  await page.getByRole('button', { name: 'New session' }).click()
  await page.getByRole('main').getByRole('combobox', { name: 'Agent' }).selectOption('clerk')
  expect((await client.listSessions()).data.length).toBe(before)
  await page.getByLabel('Message', { exact: true }).fill('what time is it')
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { name: 'what time is it' }).waitFor()
  await page.getByText('current_time said:').waitFor()
  const [made] = (await client.listSessions()).data
  expect([made?.agent, made?.usage.runs, page.url()]).toEqual(['clerk', 1, `${opened.url}/sessions/${made?.id ?? ''}`])
})

test('a delegate call contains the work of the member, live and after a reload', async () => {
  const page = await opened.show('/sessions/team')
  const delegation = page.locator('.call', { hasText: 'delegate_task_to_member' }).first()
  await page.getByLabel('Message', { exact: true }).fill('delegate "what time is it" to the clerk')
  await page.keyboard.press('Enter')
  await page.getByText('delegate_task_to_member said:').waitFor()
  for (let time = 0; time < 2; time++) {
    await delegation.locator('summary').first().click()
    await delegation.getByText('Task for clerk').waitFor()
    await delegation.locator('.members').getByText('current_time()').waitFor()
    expect(await page.locator('.members .who').allTextContents()).toEqual(['Task for clerk', 'clerk', 'clerk'])
    await page.reload()
  }
  await page.goto(`${opened.url}/sessions/team/timeline`)
  await page.getByText('current_time()').waitFor()
})

test("a link to a member's call expands the enclosing delegate call", async () => {
  const { client } = opened
  const { id } = await client.createSession({})
  for await (const _ of client.streamMessage(id, { content: 'delegate "what time is it" to the clerk' }));
  const messages = (await client.listMessages(id, { agent: 'clerk' })).data
  const call = messages.find(({ role }) => role === 'tool')?.id ?? ''
  const page = await opened.show(`/sessions/${id}#${call}`)
  await page.locator(`[id="${call}"] > summary:focus`).waitFor()
  expect(await page.locator(`[id="${call}"]`).isVisible()).toBe(true)
})
