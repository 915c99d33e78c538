import { checkApp } from '../../channels/slack/setup/check-app.ts'
import { slackManifest } from '../../channels/slack/setup/manifest.ts'
import { readSettings } from '../../runtime/settings/config.ts'
import { NEEDS_ATTENTION } from '../input.ts'
import { print } from '../terminal.ts'

/** Prints the manifest of a Slack app. Without an address, the app uses Socket Mode. */
export const printManifest = (url: string | undefined): void => print(slackManifest(parsed(url)))

/**
 * Prints which parts of a Slack app work, are missing or are wrong. The exit code is 2 if a part is missing or wrong.
 */
export async function checkSlack(url: string | undefined): Promise<void> {
  const { slack, allowedHosts, secret } = readSettings()
  const token = secret('SLACK_BOT_TOKEN')
  const signingSecret = secret('SLACK_SIGNING_SECRET')
  const appToken = secret('SLACK_APP_TOKEN')
  const address = parsed(url)
  const setup = { apiUrl: slack.apiUrl, allowedHosts, token, signingSecret, appToken, url: address, now: Date.now() }
  const findings = await checkApp(setup)
  if (findings.some(({ state }) => state !== 'ok')) process.exitCode = NEEDS_ATTENTION
  print(findings.map(({ state, text }) => `${state.padEnd(7)} ${text}\n`).join(''))
}

const parsed = (url: string | undefined): URL | undefined => (url === undefined ? undefined : new URL(url))
