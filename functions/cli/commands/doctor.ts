import type { Finding } from '../../runtime/local/examine.ts'
import { createClient } from '../../client/client.ts'
import { readSettings } from '../../runtime/settings/config.ts'
import { whileConnected } from '../connect.ts'
import type { ConnectionOptions } from '../connect.ts'
import { NEEDS_ATTENTION } from '../input.ts'
import { onOutput, print } from '../terminal.ts'
import { harmless } from '../../runtime/terminal-output.ts'

const MARKS = { good: ['green', 'ok  '], warning: ['yellow', 'look'], bad: ['red', 'BAD '] } as const
/** Largest harmless difference between the clocks. A larger one makes signatures invalid and shown times wrong. */
const CLOCK_MS = 60_000

/** Checks for problems of Tooltrail, on this machine or at an address. The exit code is 2 if a problem is serious. */
export async function doctor(options: ConnectionOptions): Promise<void> {
  const { url, key } = options
  for await (const { name, state, detail } of url === undefined ? examineHere(options) : examineAddress(url, key)) {
    const [colour, mark] = MARKS[state]
    print(`${onOutput(colour, mark)}  ${name.padEnd(11)}  ${harmless(detail)}\n`)
    if (state === 'bad') process.exitCode = NEEDS_ATTENTION
  }
}

async function* examineHere(options: ConnectionOptions): AsyncGenerator<Finding> {
  const { examineMachine } = await import('../../runtime/local/examine.ts')
  yield* examineMachine(readSettings())
  if (options.key !== undefined) yield await whileConnected(options, ({ url, key }) => keyFinding(url, key))
}

async function* examineAddress(url: string, key: string | undefined): AsyncGenerator<Finding> {
  const begun = Date.now()
  let response: Response
  try {
    response = await fetch(`${url.replace(/\/+$/, '')}/healthz`, { signal: AbortSignal.timeout(30_000) })
  } catch (error) {
    yield { name: 'program', state: 'bad', detail: `${url} does not respond: ${causeOf(error)}` }
    return
  }
  const health = (await response.json().catch(() => ({}))) as { status?: string; version?: string; storage?: string }
  if (health.version === undefined) {
    yield {
      name: 'program',
      state: 'bad',
      detail: `${url} responds with ${response.status}, but not as Tooltrail does: check the address`,
    }
    return
  }
  const detail = `${health.version} at ${url} in ${Date.now() - begun} ms, storage ${health.storage}`
  yield { name: 'program', state: health.status === 'ok' ? 'good' : 'bad', detail }
  yield clockFinding(Date.parse(response.headers.get('date') ?? '') - Date.now())
  yield await keyFinding(url, key)
}

function clockFinding(difference: number): Finding {
  const seconds = Math.round(difference / 1000)
  if (!(Math.abs(difference) > CLOCK_MS)) return { name: 'clock', state: 'good', detail: 'agrees with this machine' }
  return { name: 'clock', state: 'warning', detail: `differs from this machine by ${seconds} s: set the clocks` }
}

async function keyFinding(url: string, key: string | undefined): Promise<Finding> {
  try {
    await createClient({ url, key }).listSessions({ limit: 1 })
    return { name: 'key', state: 'good', detail: key === undefined ? 'none is needed' : 'may read' }
  } catch (error) {
    return { name: 'key', state: 'bad', detail: `${(error as Error).message}: give one with --key or TOOLTRAIL_KEY` }
  }
}

/** Why a request could not be sent. */
export const causeOf = (error: unknown): string => {
  const { message, cause } = error as Error
  return cause instanceof Error
    ? cause.message === ''
      ? String((cause as { code?: unknown }).code)
      : cause.message
    : message
}
