import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { definedFields } from '../../domain/defined-fields.ts'
import { sampleDelivery } from '../../channels/webhooks/sample.ts'
import { readChannels } from '../../runtime/settings/agents-file.ts'
import { MISUSED, NotRunning } from '../../runtime/command.ts'
import { readSettings } from '../../runtime/settings/config.ts'
import { SettingsError } from '../../runtime/settings/settings-error.ts'
import { withSecrets } from '../../runtime/settings/named-secrets.ts'
import { Failed, NEEDS_ATTENTION } from '../input.ts'
import { print } from '../terminal.ts'

interface TestOptions {
  /** The address of the program. If absent, the delivery is sent to the program on this machine. */
  readonly url?: string | undefined
  /** The path of a file with the body. If absent, the body has a value at each place that the settings use. */
  readonly body?: string | undefined
}

/**
 * Sends a signed delivery to a webhook of `agents.json`, and prints the response. The exit code is 2 unless the
 * response's status is 2xx.
 */
export async function testWebhook(name: string, { url, body: path }: TestOptions): Promise<void> {
  const body = path === undefined ? undefined : readBody(path)
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
  const address = `${url?.replace(/\/$/, '') ?? `http://${settings.host}:${settings.port}`}/webhooks/${name}`
  const response = await send(address, sample)
  if (!response.ok) process.exitCode = NEEDS_ATTENTION
  print(`${sample.body}\n→ ${address}\n${response.status} ${await response.text()}\n`)
}

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

function readBody(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    throw new Failed(`--body: ${(error as Error).message}`, MISUSED)
  }
}
