import { guardedFetch } from '../../../tools/guarded-fetch.ts'
import { SCOPES } from './manifest.ts'
import { signatureOf } from '../inbound/signature.ts'

const LIMITS = { bytes: 1_000_000, milliseconds: 10_000 } as const

interface Setup {
  readonly token: string | undefined
  readonly signingSecret: string | undefined
  /** The token for Socket Mode, which needs no signing secret. */
  readonly appToken: string | undefined
  readonly apiUrl: string
  readonly allowedHosts: readonly string[]
  /** The program's public address. If undefined, the address is not checked. */
  readonly url: URL | undefined
  /** The current time, in milliseconds since 1970. */
  readonly now: number
}

export interface Finding {
  /** `wrong`: the checked part exists but does not work, or it could not be checked. */
  readonly state: 'ok' | 'missing' | 'wrong'
  readonly text: string
}

/** Checks the parts of a Slack app in the order of their setup. */
export async function checkApp(setup: Setup): Promise<Finding[]> {
  const { token, signingSecret, appToken, url } = setup
  const findings: Finding[] = []
  if (token === undefined) findings.push(lacking('SLACK_BOT_TOKEN is not set: copy it from "OAuth & Permissions"'))
  else findings.push(...(await checkToken(setup, token)))
  if (appToken !== undefined) findings.push(await checkAppToken(setup, appToken))
  else if (signingSecret === undefined)
    findings.push(lacking('SLACK_SIGNING_SECRET is not set: copy it from "Basic Information"'))
  else findings.push(good('SLACK_SIGNING_SECRET is set'))
  if (url !== undefined) findings.push(await checkUrl(setup, url, signingSecret))
  return findings
}

const good = (text: string): Finding => ({ state: 'ok', text })
const lacking = (text: string): Finding => ({ state: 'missing', text })
const bad = (text: string): Finding => ({ state: 'wrong', text })

async function checkToken({ apiUrl, allowedHosts }: Setup, token: string): Promise<Finding[]> {
  try {
    const headers = new Headers({ authorization: `Bearer ${token}` })
    const request = { method: 'POST', headers, limits: LIMITS, allowedHosts }
    const response = await guardedFetch(new URL('auth.test', apiUrl), request)
    const { ok, error, team, user } = (await response.json()) as Record<string, string | boolean>
    if (ok !== true) return [bad(`SLACK_BOT_TOKEN is refused by Slack: ${String(error)}`)]
    const has = new Set((response.headers.get('x-oauth-scopes') ?? '').split(',').map((scope) => scope.trim()))
    const missing = SCOPES.filter(([scope]) => !has.has(scope))
    return [
      good(`SLACK_BOT_TOKEN is ${String(user ?? 'the bot')} in ${String(team ?? 'the workspace')}`),
      ...missing.map(([scope, reason]) => lacking(`the scope ${scope} is missing, which is needed to ${reason}`)),
      ...(missing.length === 0 ? [good('all scopes are there')] : []),
    ]
  } catch (error) {
    return [bad(`Slack cannot be asked about SLACK_BOT_TOKEN: ${(error as Error).message}`)]
  }
}

async function checkAppToken({ apiUrl, allowedHosts }: Setup, token: string): Promise<Finding> {
  try {
    const headers = new Headers({ authorization: `Bearer ${token}` })
    const request = { method: 'POST', headers, limits: LIMITS, allowedHosts }
    const response = await guardedFetch(new URL('apps.connections.open', apiUrl), request)
    const { ok, error } = (await response.json()) as Record<string, unknown>
    if (ok === true) return good('SLACK_APP_TOKEN opens a socket')
    return bad(`SLACK_APP_TOKEN is refused by Slack: ${String(error)}; it needs the scope connections:write`)
  } catch (error) {
    return bad(`Slack cannot be asked about SLACK_APP_TOKEN: ${(error as Error).message}`)
  }
}

/** Sends the request that Slack sends when a person enters the address in the app's settings. */
async function checkUrl({ allowedHosts, now }: Setup, url: URL, secret: string | undefined): Promise<Finding> {
  const address = new URL(`${url.href.replace(/\/$/, '')}/slack/events`)
  if (secret === undefined) return lacking(`${address.href} was not asked: that takes SLACK_SIGNING_SECRET`)
  const body = JSON.stringify({ type: 'url_verification', challenge: 'tooltrail' })
  const timestamp = String(Math.floor(now / 1_000))
  const headers = new Headers({
    'content-type': 'application/json',
    'x-slack-request-timestamp': timestamp,
    'x-slack-signature': signatureOf(secret, timestamp, body),
  })
  try {
    // The host is allowed even if it is this machine, because the operator named it.
    const request = { method: 'POST', headers, body, limits: LIMITS, allowedHosts: [...allowedHosts, address.hostname] }
    const response = await guardedFetch(address, request)
    const text = await response.text()
    if (response.status === 200 && text.includes('tooltrail')) return good(`${address.href} answers as Slack expects`)
    if (response.status === 401) return bad(`${address.href} has another SLACK_SIGNING_SECRET`)
    if (response.status === 404) return bad(`${address.href} runs without Slack: set its variables, and start it again`)
    return bad(`${address.href} answers with status ${response.status}`)
  } catch (error) {
    return bad(`${address.href} cannot be reached: ${(error as Error).message}`)
  }
}
