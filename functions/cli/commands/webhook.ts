import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { definedFields } from '../../domain/defined-fields.ts'
import { sampleDelivery } from '../../channels/webhooks/sample.ts'
import { readChannels } from '../../runtime/settings/agents-file.ts'
import { NotRunning, runCommand, UsageError, argsWithoutEnvironment } from '../../runtime/command.ts'
import { readSettings, SettingsError } from '../../runtime/settings/config.ts'
import { withSecrets } from '../../runtime/settings/named-secrets.ts'
import { addressFault } from '../input.ts'

const USAGE = `Sends a webhook of agents.json a delivery, signed as its sender signs, and shows the response.

  npx tooltrail webhook test <name> [--url <address of the program>] [--body <file with JSON>]

Without --url it goes to the program on this machine, without --body it has something at every place that the settings point to.
It needs the variable of the webhook's first secret.
`

await runCommand(USAGE, async (line) => {
  const { name, url, body } = readArguments(argsWithoutEnvironment(line))
  const settings = readSettings()
  const { webhooks } = readChannels(settings.agentsFile)
  const webhook = webhooks.get(name)
  if (webhook === undefined) {
    const known = [...webhooks.keys()].join(', ') || 'none'
    throw new SettingsError(
      `${settings.agentsFile.path}: there is no webhook ${JSON.stringify(name)}; it has: ${known}`,
    )
  }
  const [text = ''] = webhook.verify.secrets
  const sample = sampleDelivery(webhook, {
    secret: secretOf(text, settings.secret),
    id: `sample-${randomUUID()}`,
    at: new Date(),
    ...definedFields({ body }),
  })
  const address = `${url ?? `http://${settings.host}:${settings.port}`}/webhooks/${name}`
  const response = await send(address, sample)
  if (!response.ok) process.exitCode = 2
  return `${sample.body}\n→ ${address}\n${response.status} ${await response.text()}\n`
})

async function send(address: string, { body, headers }: ReturnType<typeof sampleDelivery>): Promise<Response> {
  try {
    return await fetch(address, { method: 'POST', body, headers, redirect: 'manual' })
  } catch (cause) {
    throw new NotRunning(
      `nothing responds at ${new URL(address).origin}: start the program, or name its address with --url`,
      { cause },
    )
  }
}

function secretOf(text: string, secret: (name: string) => string | undefined): string {
  try {
    return withSecrets(text, secret)
  } catch (error) {
    throw new SettingsError(`${(error as Error).message}: set the variable of this name`)
  }
}

function readArguments(argv: readonly string[]): { name: string; url?: string; body?: string } {
  const { values, positionals } = parsed(argv)
  const [command, name, ...rest] = positionals
  if (command !== 'test')
    throw new UsageError(command === undefined ? 'name what to do: test' : `unexpected: ${command}`)
  if (name === undefined) throw new UsageError('name a webhook of agents.json')
  if (rest.length > 0) throw new UsageError(`unexpected: ${rest[0]}`)
  const { url, body } = values
  const fault = url === undefined ? undefined : addressFault(url)
  if (fault !== undefined) throw new UsageError(`--url ${fault}`)
  return {
    name,
    ...(url === undefined ? {} : { url: url.replace(/\/$/, '') }),
    ...(body === undefined ? {} : { body: readBody(body) }),
  }
}

function readBody(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    throw new UsageError(`--body: ${(error as Error).message}`, { cause: error })
  }
}

function parsed(argv: readonly string[]) {
  try {
    const options = { url: { type: 'string' }, body: { type: 'string' } } as const
    return parseArgs({ args: [...argv], options, strict: true, allowPositionals: true })
  } catch (error) {
    throw new UsageError((error as Error).message, { cause: error })
  }
}
