/* Evidence, page: At an unknown address, browsers get the page with status 404, and other clients get a problem document. */
/* Evidence, page: The page is usable by keyboard only, and axe finds no fault in its views. */
import { execFileSync } from 'node:child_process'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openBrowser } from './browser.ts'
import type { Opened } from './browser.ts'
import { expectNoFaults, faults } from './faults.ts'

/** Markdown whose headings begin at a low level and skip levels, with two tables of the same name. */
const HEADINGS = '#### low\n\n# high\n\n##### lowest\n\n| a |\n|---|\n| 1 |\n\nand\n\n| a |\n|---|\n| 2 |\n'

let opened: Opened
beforeAll(async () => {
  opened = await openBrowser()
  const { client } = opened
  await client.createSession({ id: 'tour', title: 'A tour', owner: 'you' })
  for (const content of [
    'think about **crates**',
    'what time is it and search history for crates at once',
    'fail',
    'write a long report',
  ])
    for await (const _event of client.streamMessage('tour', { content })) continue
  for await (const _event of client.streamMessage('tour', { content: 'publish the report' })) continue
  await importCompletion('headings', HEADINGS)
})
afterAll(() => opened.close())

/** Imports a completion that the demo model does not produce. */
async function importCompletion(session: string, content: string): Promise<void> {
  await opened.client.createSession({ id: session })
  const messages = [
    { role: 'user', content: 'Go on.' },
    { role: 'assistant', content },
  ]
  const { status } = await fetch(`${opened.url}/v1/sessions/${session}/import`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ format: 'openai', messages }),
  })
  expect(status).toBe(200)
}

describe.each(['light', 'dark'] as const)('in %s colours', (colorScheme) => {
  test.each([
    ['/', 'A tour'],
    ['/new', 'It begins with your first message'],
    ['/sessions/tour', 'needs your decision'],
    ['/sessions/headings', 'lowest'],
    ['/sessions/nowhere', 'This session does not exist.'],
    ['/sessions/tour/timeline', 'current_time'],
    ['/sessions/tour/context', 'The next request'],
    ['/usage', 'By agent'],
    ['/usage?by=session&measure=cost', 'Costs by day'],
    ['/search?q=crates', 'crates'],
    ['/search?q=report&role=tool_call&tool=demo_publish', 'demo_publish'],
    ['/search?q=crates&since=yesterday', 'Since must be a date'],
    ['/sessions/nowhere/timeline', 'This session does not exist.'],
  ])('axe reports no faults in %s', async (path, shown) => {
    const page = await opened.show(path, { colorScheme })
    await page.getByText(shown).first().waitFor()
    await expectNoFaults(page)
  })

  test('axe reports no faults in a call, its output, the field of the title, and two dialogs', async () => {
    const page = await opened.show('/sessions/tour', { colorScheme })
    await page.getByText('demo_report()').click()
    await page.getByRole('button', { name: 'Open output' }).click()
    await page.getByRole('dialog').getByText('5,000 lines').waitFor()
    await expectNoFaults(page)
    await page.getByRole('button', { name: 'Close' }).click()
    await expectNoFaults(page)
    for (const name of ['Export', 'Delete']) {
      await page.getByRole('button', { name }).click()
      await expectNoFaults(page)
      await page.keyboard.press('Escape')
    }
    await page.getByRole('button', { name: 'A tour' }).click()
    await page.getByLabel('Title', { exact: true }).waitFor()
    await expectNoFaults(page)
  })
})

test('an unknown address shows an error with a link back; a malformed address breaks nothing', async () => {
  const page = await opened.show('/nothing/here')
  await page.getByRole('heading', { name: 'There is nothing at this address' }).waitFor()
  expect(await faults(page)).toEqual([])
  await page.getByRole('link', { name: 'back to the start' }).click()
  await page.getByRole('heading', { name: 'Everything your agents did' }).waitFor()
  for (const malformed of ['/sessions/%zz', '/sessions/tour#%zz']) {
    await page.goto(opened.url + malformed)
    await page.getByRole('link', { name: 'Tooltrail' }).waitFor()
  }
})

test('the page requests a key if the program has keys, and stores the key for its tab only', async () => {
  const keyed = await openBrowser()
  try {
    const page = await keyed.show('/')
    await page.getByText('No session yet').waitFor()
    const made = execFileSync(
      process.execPath,
      ['functions/cli/tooltrail.ts', 'keys', 'create', '--tenant', 'default', '--scope', 'admin'],
      { env: { ...process.env, TOOLTRAIL_DATA: keyed.folder }, encoding: 'utf8' },
    )
    const key = /tt_\S+/.exec(made)?.[0] ?? ''
    await page.getByLabel('API key').waitFor()
    await page.getByText('npm run keys -- create --tenant default').waitFor()
    await expectNoFaults(page)
    await page.getByLabel('API key').fill('tt_wrong')
    await page.getByRole('button', { name: 'Open' }).click()
    await page.getByText('This key is not known here.').waitFor()
    await page.getByLabel('API key').fill(key)
    await page.getByRole('button', { name: 'Open' }).click()
    await page.getByText('No session yet').waitFor()
    await page.reload()
    await page.getByText('No session yet').waitFor()
    expect(await page.evaluate('JSON.stringify(localStorage) + document.cookie')).not.toContain(key)
    const other = await page.context().newPage()
    await other.goto(keyed.url)
    await other.getByLabel('API key').waitFor()
  } finally {
    await keyed.close()
  }
})

test('usage by day, agent and session is shown as charts, and the same values as text and tables', async () => {
  const page = await opened.show('/usage')
  const today = new Intl.DateTimeFormat('en-US', { dateStyle: 'medium', timeZone: 'UTC' }).format(new Date())
  const label = () => page.getByRole('img').getAttribute('aria-label')
  const short = (value: number) =>
    new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 1 }).format(value)
  const entries = async (by: 'agent' | 'day') => (await opened.client.readUsage({ by })).data
  await expect
    .poll(label)
    .toMatch(new RegExp(`^Tokens by day: 1 of 30 days have any, most ${today} with .* in, .* out$`))
  const bars = page.getByRole('list', { name: 'Tokens by agent' })
  const [used] = await entries('agent')
  expect(await bars.innerText()).toContain(
    `${short(used?.usage.input_tokens ?? 0)} in, ${short(used?.usage.output_tokens ?? 0)} out`,
  )
  await page.getByRole('button', { name: 'session', exact: true }).click()
  await page.getByRole('list', { name: 'Tokens by session' }).getByRole('link', { name: 'A tour' }).waitFor()
  await page.getByRole('button', { name: 'cost', exact: true }).click()
  await expect.poll(label).toMatch(/^Costs by day: .* with unknown$/)
  expect(await page.getByRole('list', { name: 'Costs by session' }).innerText()).toMatch(/A tour\s+unknown/)
  expect(await page.locator('.use-bar > :not(.used-unknown)').count()).toBe(0)
  await page.getByText('As a table').first().click()
  expect(await page.getByRole('region', { name: 'Figures by day' }).innerText()).toMatch(
    new RegExp(`${today}.*unknown`),
  )
  await page.reload()
  await page.getByRole('list', { name: 'Costs by session' }).waitFor()
})
