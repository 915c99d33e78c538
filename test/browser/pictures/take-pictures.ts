import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { chromium } from 'playwright-core'
import type { Browser, Page } from 'playwright-core'
import { createSystemClock } from '../../../functions/adapters/memory/system-clock.ts'
import { createClient } from '../../../functions/client/client.ts'
import type { Client } from '../../../functions/client/client.ts'
import type { ModelRequest } from '../../../functions/domain/model-request.ts'
import type { Model, ModelEvent } from '../../../functions/ports/model.ts'
import type { Tool } from '../../../functions/ports/tool.ts'
import { builtInTools } from '../../../functions/runtime/built-in-tools.ts'
import { readSettings } from '../../../functions/runtime/settings/config.ts'
import { openPorts } from '../../../functions/runtime/local/open-ports.ts'
import { startLocal } from '../../../functions/runtime/local/start.ts'
import { findChromium } from '../chromium.ts'
import type { Step } from './pictured-work.ts'
import { WORK } from './pictured-work.ts'
import { READ_PIXELS, smallPng } from './small-png.ts'

// Creates the pictures in docs/images: `npx node test/browser/pictures/take-pictures.ts`, after `npm run build`.

const IMAGES = fileURLToPath(new URL('../../../docs/images/', import.meta.url))
const MINUTE = 60_000
const DAY = 24 * 60 * MINUTE
const TOOLS = ['list_deploys', 'run_shell', 'edit_file', 'read_file', 'deploy']
const INSTRUCTIONS =
  'You help the people of the shop with their systems. Look before you say something, and say where you found it.'
const AGENT = { instructions: INSTRUCTIONS, tools: [...TOOLS, 'search_history', 'read_output'] }
const AGENTS = {
  default: { ...AGENT, model: 'anthropic/claude-sonnet-5-5' },
  writer: { ...AGENT, model: 'openai/gpt-5.4' },
}

/** Milliseconds by which the program's clock is behind. Sessions of earlier days are created first. */
let behind = 0
const system = createSystemClock()
const clock = { ...system, now: () => system.now() - behind }

/** Returns the next step of the newest input. The number of completions after the input selects the step. */
function nextStep({ messages }: ModelRequest): Step {
  const at = messages.findLastIndex(({ role }) => role === 'user')
  const [part] = messages[at]?.parts ?? []
  const input = part?.type === 'text' ? part.text : ''
  const step = WORK[input]?.[messages.slice(at).filter(({ role }) => role === 'assistant').length]
  if (step === undefined) throw new Error(`nothing is written for: ${input}`)
  return step
}

const modelNamed = (name: string): Model => ({
  name,
  async *stream(request): AsyncGenerator<ModelEvent> {
    const { text, calls = [], input, output, milliseconds } = nextStep(request)
    await system.sleep(milliseconds)
    const toolCalls = calls.map((call, at) => ({
      id: `call_${request.messages.length}_${at}`,
      name: call.name,
      arguments: JSON.stringify(call.arguments),
    }))
    const usage = {
      inputTokens: input,
      cachedInputTokens: Math.round(input * 0.45),
      cacheWriteTokens: 0,
      outputTokens: output,
      reasoningTokens: 0,
      totalTokens: input + output,
    }
    yield { type: 'text.delta', part: 0, text }
    const parts = [{ type: 'text' as const, text }, ...toolCalls.map(({ id }) => ({ type: 'tool_call' as const, id }))]
    const finishReason = calls.length > 0 ? 'tool-calls' : 'stop'
    yield { type: 'completion', completion: { parts, toolCalls, model: name, finishReason, usage } }
  },
})

const toolNamed = (name: string): Tool => ({
  name,
  description: `The tool ${name} of the shop.`,
  parameters: { type: 'object' },
  idempotent: false,
  timeoutMs: MINUTE,
  needsApproval: name === 'deploy',
  async execute(given) {
    const calls = Object.values(WORK).flatMap((steps) => steps.flatMap((step) => step.calls ?? []))
    const call = calls.find((one) => JSON.stringify(one.arguments) === JSON.stringify(given))
    await system.sleep(call?.milliseconds ?? 0)
    return { text: call?.result ?? '' }
  },
})

async function makeSessions(client: Client): Promise<void> {
  const make = async (
    session: { readonly id: string; readonly title: string; readonly owner: string; readonly agent?: string },
    ...inputs: readonly string[]
  ): Promise<void> => {
    await client.createSession(session)
    for (const content of inputs)
      for await (const _event of client.streamMessage(session.id, { content, user: session.owner })) continue
  }
  const invoices = 'Which invoices of this week are open?'
  const notes = 'Write the release notes'
  const retries = 'Why does the test of retries fail now and then?'
  for (const ago of [19, 17, 16, 13, 12, 10, 9, 6, 5, 4, 3, 2, 1]) {
    behind = ago * DAY
    const times = 1 + (ago % 3)
    const week = Array.from({ length: times }, () => invoices)
    await make({ id: `invoices-${ago}`, title: `Invoices of ${weekday(clock.now())}`, owner: 'grace' }, ...week)
    if (ago % 2 === 0) {
      const title = `Release notes 2.3.${20 - ago}`
      await make({ id: `notes-${ago}`, title, owner: 'linus', agent: 'writer' }, notes)
    }
    if (ago % 4 === 1) await make({ id: `retries-${ago}`, title: titleOfTest(ago), owner: 'ada' }, retries, retries)
  }
  behind = 180 * MINUTE
  await make({ id: 'invoices', title: 'Invoices of November', owner: 'grace' }, Object.keys(WORK)[2] ?? '')
  behind = 120 * MINUTE
  await make({ id: 'notes-24', title: 'Release notes 2.4', owner: 'linus', agent: 'writer' }, notes)
  behind = 60 * MINUTE
  const residency = 'Where is the data of our customers in Europe stored?'
  await make({ id: 'residency', title: 'Data residency questions', owner: 'ada' }, residency)
  behind = 14 * MINUTE
  const deploy = { id: 'deploy-42', title: 'Why did the deploy fail?', owner: 'ada' }
  await make(deploy, ...Object.keys(WORK).slice(0, 2))
  behind = 0
}

const weekday = (at: number): string => new Date(at).toLocaleDateString('en', { weekday: 'long', timeZone: 'UTC' })
const titleOfTest = (ago: number): string => (ago === 1 ? 'The flaky test of retries' : 'A test of retries fails')

/** Views by picture name: the address, a text that the loaded view contains, and actions before the picture is taken. */
const VIEWS: { readonly [name: string]: readonly [string, string, ((page: Page) => Promise<void>)?] } = {
  sessions: ['/sessions/invoices', 'come to 48,210.40 EUR', narrow],
  conversation: ['/sessions/deploy-42', 'needs your decision', openCall],
  approval: ['/sessions/deploy-42', 'needs your decision'],
  timeline: ['/sessions/deploy-42/timeline', 'Raise the pool'],
  search: ['/search?q=connection%20pool', 'hits in'],
  context: ['/sessions/deploy-42/context', 'The next request'],
  usage: ['/usage', 'By agent'],
}

async function narrow(page: Page): Promise<void> {
  await page.getByPlaceholder('Title or first message').fill('invoices')
  await page.getByText('Release notes 2.4').waitFor({ state: 'detached' })
}

async function openCall(page: Page): Promise<void> {
  await page.getByRole('region', { name: 'Conversation' }).hover()
  await page.mouse.wheel(0, -10_000)
  await page.getByText('The beginning').waitFor()
  await page.locator('details.call summary', { hasText: 'kubectl logs' }).click()
  await page.getByText('pool exhausted (max_pool_size=20)').first().waitFor()
  await page.mouse.wheel(0, -10_000)
}

async function take(
  browser: Browser,
  url: string,
  [name, colorScheme, width]: readonly [string, 'light' | 'dark', number],
  file = `${name}-${colorScheme}.png`,
): Promise<void> {
  const [path, shown, act] = VIEWS[name] ?? ['/', '']
  const viewport = { width, height: 680 }
  const context = await browser.newContext({ viewport, colorScheme, timezoneId: 'UTC', reducedMotion: 'reduce' })
  const page = await context.newPage()
  await page.goto(`${url}${path}`)
  await page.getByText(shown).first().waitFor()
  if (width > 600) await page.getByText('Data residency questions').first().waitFor()
  await act?.(page)
  await page.mouse.move(width - 1, 400)
  await page.waitForLoadState('networkidle')
  const picture = await page.screenshot({ animations: 'disabled', caret: 'hide' })
  await page.goto('about:blank')
  const pixels = await page.evaluate<string>(`(${READ_PIXELS})('${picture.toString('base64')}')`)
  writeFileSync(join(IMAGES, file), smallPng(Buffer.from(pixels, 'base64'), width))
  await context.close()
}

const folder = mkdtempSync(join(tmpdir(), 'tooltrail-pictures-'))
const agentsFile = join(folder, 'agents.json')
writeFileSync(agentsFile, JSON.stringify({ agents: AGENTS }))
const settings = readSettings({ PORT: '0', TOOLTRAIL_DATA: folder, TOOLTRAIL_AGENTS: agentsFile, LOG_LEVEL: 'error' })
const ports = { ...(await openPorts(settings, clock)), models: { open: async (name: string) => modelNamed(name) } }
const server = await startLocal(settings, { ports, tools: builtInTools(TOOLS.map(toolNamed)) })
const browser = await chromium.launch({
  executablePath: findChromium() ?? 'chromium',
  args: ['--no-sandbox', '--disable-lcd-text'],
})
try {
  await makeSessions(createClient({ url: server.url }))
  for (const name of Object.keys(VIEWS))
    for (const scheme of ['light', 'dark'] as const) await take(browser, server.url, [name, scheme, 1_120])
  await take(browser, server.url, ['approval', 'light', 390], 'phone-light.png')
} finally {
  await browser.close()
  await server.close()
  rmSync(folder, { recursive: true, force: true })
}
