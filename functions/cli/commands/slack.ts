import { checkApp } from '../../channels/slack/setup/check-app.ts'
import { slackManifest } from '../../channels/slack/setup/manifest.ts'
import { runCommand, UsageError, argsWithoutEnvironment } from '../../runtime/command.ts'
import { readSettings } from '../../runtime/settings/config.ts'

const USAGE = `Sets up a Slack app; docs/guides/slack.md has the steps.

  npx tooltrail slack manifest --url <address>   prints the app's manifest, with the reason of each scope
  npx tooltrail slack manifest                   the same for Socket Mode: no address is needed
  npx tooltrail slack check [--url <address>]    says what is there, missing and wrong: token, scopes, secret, address

<address>: where the program is reached from outside, such as https://abc.execute-api.eu-central-1.amazonaws.com/api
`

await runCommand(USAGE, async (line) => {
  const [command, ...argv] = argsWithoutEnvironment(line)
  if (command === undefined) throw new UsageError('name what to do: manifest or check')
  if (command !== 'manifest' && command !== 'check') throw new UsageError(`unexpected: ${command}`)
  const url = urlOf(argv)
  if (command === 'manifest') return slackManifest(url)
  const { slack, allowedHosts, secret } = readSettings()
  const token = secret('SLACK_BOT_TOKEN')
  const signingSecret = secret('SLACK_SIGNING_SECRET')
  const appToken = secret('SLACK_APP_TOKEN')
  const setup = { apiUrl: slack.apiUrl, allowedHosts, token, signingSecret, appToken, url, now: Date.now() }
  const findings = await checkApp(setup)
  if (findings.some(({ state }) => state !== 'ok')) process.exitCode = 2
  return findings.map(({ state, text }) => `${state.padEnd(7)} ${text}\n`).join('')
})

function urlOf([flag, value, ...rest]: readonly string[]): URL | undefined {
  if (flag === undefined) return undefined
  if (flag !== '--url' || rest.length > 0) throw new UsageError(`unexpected: ${flag === '--url' ? rest[0] : flag}`)
  const url = URL.parse(value ?? '')
  if (url === null || !/^https?:$/.test(url.protocol)) throw new UsageError('--url needs an http(s) address')
  return url
}
