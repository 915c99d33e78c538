import { setTimeout as sleep } from 'node:timers/promises'
import type { Account } from './account.ts'
import type { Checkout } from './checkout.ts'

const RUN_TIMEOUT_MS = 60_000
const POLL_INTERVAL_MS = 500

interface World {
  readonly account: Account
  readonly checkout: Checkout
}

/** A named check. It holds unless it rejects. */
export type Check = readonly [name: string, work: () => Promise<unknown>]

/**
 * Returns the checks: deploy, use, change, delete and redeploy the program, in this order, with the project's own commands.
 */
export function checksOf({ account, checkout }: World): readonly Check[] {
  const { run } = checkout
  const keys = new Map<string, string>()
  const npm = (script: string, ...argv: readonly string[]) => run('npm', 'run', '--silent', script, '--', ...argv)
  const deploy = (environment: string, ...argv: readonly string[]) =>
    npm('deploy', '-c', `env=${environment}`, ...argv, '--require-approval', 'never', '--progress', 'events')
  const destroy = (environment: string, ...argv: readonly string[]) =>
    run('cdk', 'destroy', '--all', '--force', '-c', `env=${environment}`, ...argv)
  const makeKey = async (environment: string): Promise<void> => {
    const printed = await npm('keys', '--env', environment, 'create', '--tenant', 'default', '--scope', 'admin')
    keys.set(environment, requireText(/^tt_\S+/m.exec(printed)?.[0], 'a key'))
  }
  const smoke = async (environment: string): Promise<string> =>
    npm('smoke', '--url', await account.address(environment), '--key', keys.get(environment) ?? '')
  const withSettings = async (line: string, work: () => Promise<unknown>): Promise<void> => {
    checkout.set('dev', line)
    try {
      await work()
    } finally {
      checkout.resetSettings()
    }
  }
  const changed = (line: string) => () => withSettings(line, () => deploy('dev'))
  const stacksOf = (environment: string) => account.stacks(`tooltrail-${environment}-`)

  return [
    ['bootstrap', () => run('cdk', 'bootstrap', '-c', 'env=dev')],
    ['deploy-dev', () => deploy('dev')],
    ['key-dev', () => makeKey('dev')],
    ['smoke-dev', () => smoke('dev')],
    ['queued-run', async () => queuedRun(await account.address('dev'), keys.get('dev') ?? '')],
    ['status-dev', async () => requireIn(await npm('status', '--env', 'dev'), 'Nothing needs attention')],
    ['rebuild', async () => requireIn(await npm('rebuild', '--env', 'dev'), 'searches now use the new index')],
    ['redrive', async () => requireIn(await npm('redrive', '--env', 'dev'), 'brought 0 messages up to date')],
    ['cap-key', () => capKey({ npm, send: sender(account, keys) })],
    ['second-environment', () => deploy('staging')],
    ['prod-without-email', () => refused(deploy('prod'), 'alarmEmail')],
    ['deploy-prod', () => deploy('prod', '-c', 'alarmEmail=ops@example.com')],
    [
      'protected-prod',
      async () => {
        await refused(destroy('prod', '-c', 'alarmEmail=ops@example.com'), 'rotection')
        requireEqual((await stacksOf('prod')).length, 4)
      },
    ],
    [
      'update-settings',
      changed('maxWorkers: 5, xray: true, provisionedConcurrency: 1, firewall: { requestsPerAddress: 1_000 },'),
    ],
    ['smoke-after-update', () => smoke('dev')],
    ['settings-back', () => deploy('dev')],
    ['update-tags', changed("tags: { team: 'assistants' },")],
    [
      'update-limits',
      changed(
        'throttle: { rate: 10, burst: 20 }, openThrottle: { rate: 5, burst: 10 }, logDays: 30, pointInTimeRecovery: true,',
      ),
    ],
    [
      'changed-key',
      () =>
        withSettings("encryptionKey: 'arn:aws:kms:us-east-1:000000000000:key/1',", () =>
          refused(deploy('dev'), 'one key for good'),
        ),
    ],
    [
      'destroy-dev',
      async () => {
        await account.empty(await account.output('tooltrail-dev-data', 'BucketName'))
        await account.empty(await account.output('tooltrail-dev-app', 'StreamFailuresBucket'))
        await destroy('dev')
        requireEqual((await stacksOf('dev')).join(), '')
      },
    ],
    ['deploy-again', () => deploy('dev')],
    ['key-again', () => makeKey('dev')],
    ['smoke-again', () => smoke('dev')],
  ]
}

type Send = (
  path: string,
  init?: { readonly body?: unknown; readonly headers?: Record<string, string> },
) => Promise<Response>

const sender =
  (account: Account, keys: ReadonlyMap<string, string>): Send =>
  async (path, { body, headers = {} } = {}) =>
    fetch(`${await account.address('dev')}${path}`, {
      method: body === undefined ? 'GET' : 'POST',
      headers: { authorization: `Bearer ${keys.get('dev')}`, 'content-type': 'application/json', ...headers },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })

/** Executes a run through the queue and the worker. Throws unless it completes in time. */
async function queuedRun(base: string, key: string): Promise<void> {
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
  const json = async (path: string, body?: object, more = {}) => {
    const method = body === undefined ? 'GET' : 'POST'
    const init = {
      method,
      headers: { ...headers, ...more },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    }
    return (await (await fetch(`${base}${path}`, init)).json()) as {
      readonly id: string
      readonly run?: { status: string }
    }
  }
  const { id } = await json('/v1/sessions', {})
  await json(`/v1/sessions/${id}/messages`, { content: 'what time is it' }, { prefer: 'respond-async' })
  for (const until = Date.now() + RUN_TIMEOUT_MS; Date.now() < until; await sleep(POLL_INTERVAL_MS))
    if ((await json(`/v1/sessions/${id}`)).run?.status === 'completed') return
  throw new Error(`the run did not complete within ${RUN_TIMEOUT_MS} ms`)
}

/** Caps an active key at one request a second, expects a refusal, and removes the cap. */
async function capKey({
  npm,
  send,
}: {
  readonly npm: (...argv: string[]) => Promise<string>
  readonly send: Send
}): Promise<void> {
  const listed = await npm('keys', '--env', 'dev', 'list', '--json')
  const { id, last_used_at: lastUse } = JSON.parse(listed.split('\n')[0] ?? '') as {
    id: string
    last_used_at: string | null
  }
  requireText(lastUse ?? undefined, 'a last use')
  await npm('keys', '--env', 'dev', 'cap', id, '--rps', '1')
  const statuses = await Promise.all(Array.from({ length: 5 }, async () => (await send('/v1/sessions')).status))
  await npm('keys', '--env', 'dev', 'cap', id, '--rps', 'none')
  if (!statuses.includes(429)) throw new Error(`a capped key got ${statuses.join(', ')}`)
}

async function refused(work: Promise<string>, reason: string): Promise<void> {
  const error = await work.then(
    () => undefined,
    (failure: unknown) => failure,
  )
  if (!(error instanceof Error)) throw new Error(`was not refused with ${reason}`)
  requireIn(error.message, reason)
}

function requireIn(text: string, part: string): void {
  if (!text.includes(part)) throw new Error(`${JSON.stringify(part)} is not in: ${text.slice(-300)}`)
}

function requireEqual(found: unknown, expected: unknown): void {
  if (found !== expected) throw new Error(`found ${String(found)}, expected ${String(expected)}`)
}

function requireText(text: string | undefined, what: string): string {
  if (text === undefined) throw new Error(`there is no ${what}`)
  return text
}
