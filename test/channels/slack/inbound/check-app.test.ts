import { afterEach, beforeEach, expect, test } from 'vitest'
import { checkApp } from '../../../../functions/channels/slack/setup/check-app.ts'
import { SCOPES, slackManifest } from '../../../../functions/channels/slack/setup/manifest.ts'
import { BOT_TOKEN, startSlackServer } from '../../../slack-server/slack-server.ts'
import type { SlackServer } from '../../../slack-server/slack-server.ts'

let slack: SlackServer
beforeEach(async () => void (slack = await startSlackServer()))
afterEach(() => slack.close())

const check = async (given: {
  token?: string
  signingSecret?: string
  appToken?: string
  url?: URL
}): Promise<string[]> => {
  const places = { apiUrl: slack.apiUrl, allowedHosts: [slack.host], now: Date.now() }
  const findings = await checkApp({
    token: undefined,
    signingSecret: undefined,
    appToken: undefined,
    url: undefined,
    ...places,
    ...given,
  })
  return findings.map(({ state, text }) => `${state}: ${text}`)
}

test('a setting without a value is reported as missing', async () => {
  expect(await check({})).toEqual([
    'missing: SLACK_BOT_TOKEN is not set: copy it from "OAuth & Permissions"',
    'missing: SLACK_SIGNING_SECRET is not set: copy it from "Basic Information"',
  ])
})

test('a token that Slack rejects is reported by name with Slack’s error code, never by value', async () => {
  const lines = await check({ token: 'xoxb-wrong-and-secret', signingSecret: 's' })
  expect(lines).toEqual(['wrong: SLACK_BOT_TOKEN is refused by Slack: invalid_auth', 'ok: SLACK_SIGNING_SECRET is set'])
})

test('each missing scope of a token is named with its reason', async () => {
  slack.scopes = ['chat:write', 'files:read']
  const lines = await check({ token: BOT_TOKEN, signingSecret: 's' })
  expect(lines).toContain('missing: the scope files:write is missing, which is needed to add a long answer as a file')
  expect(lines.filter((line) => line.startsWith('missing'))).toHaveLength(SCOPES.length - 2)
})

test('a token with all scopes passes the check', async () => {
  expect((await check({ token: BOT_TOKEN, signingSecret: 's' })).every((line) => line.startsWith('ok'))).toBe(true)
})

test('a wrong app token of Socket Mode is reported with the scope that it needs', async () => {
  const lines = await check({ token: BOT_TOKEN, appToken: 'xapp-wrong' })
  expect(lines.at(-1)).toBe(
    'wrong: SLACK_APP_TOKEN is refused by Slack: invalid_auth; it needs the scope connections:write',
  )
})

test('an address without a listener is reported as wrong, not as missing', async () => {
  const lines = await check({ signingSecret: 's', url: new URL('http://127.0.0.1:9') })
  expect(lines.at(-1)).toMatch(/^wrong: http:\/\/127\.0\.0\.1:9\/slack\/events cannot be reached/)
})

test('an unreachable Slack API is not mistaken for a missing token', async () => {
  await slack.close()
  expect((await check({ token: BOT_TOKEN, signingSecret: 's' }))[0]).toMatch(
    /^wrong: Slack cannot be asked about SLACK_BOT_TOKEN: /,
  )
})

test('an address is reported as unchecked if the signing secret is missing', async () => {
  const lines = await check({ url: new URL('https://example.com') })
  expect(lines.at(-1)).toBe('missing: https://example.com/slack/events was not asked: that takes SLACK_SIGNING_SECRET')
})

test('the manifest without an address uses Socket Mode', () => {
  const manifest = slackManifest(undefined)
  expect(manifest).toContain('socket_mode_enabled: true')
  expect(manifest).not.toContain('request_url')
})

test('the manifest names the address for events and buttons, and a reason for each scope', () => {
  const manifest = slackManifest(new URL('https://example.com/api/'))
  expect(manifest.match(/request_url: "https:\/\/example\.com\/api\/slack\/events"/g)).toHaveLength(2)
  for (const [scope] of SCOPES) expect(manifest).toMatch(new RegExp(`- ${scope} # to (?!the )\\w+`))
})
