import { z } from 'zod'
import type { CallbackSettings } from '../../channels/callbacks/channel.ts'
import { PRESETS, type WebhookSettings } from '../../channels/webhooks/settings.ts'
import { isPointer, templateFault } from '../../channels/webhooks/template.ts'
import type { Agent } from '../../domain/agent.ts'
import { definedFields } from '../../domain/defined-fields.ts'
import { isTenant } from '../../domain/ids.ts'
import type { Json } from '../../domain/json.ts'
import { missingTool, missingToolText } from '../../domain/runs/required-tool.ts'
import { refusedAddress } from '../../tools/allowed-hosts.ts'
import { SettingsError } from './settings-error.ts'
import { secretNames, withSecrets } from './named-secrets.ts'

const name = z.string().regex(/^[a-z0-9-]{1,64}$/, 'must be 1–64 of a-z 0-9 -')
const address = z.url({ protocol: /^https?$/, error: 'must be an http(s) URL' })
const template = z
  .string()
  .min(1)
  .max(100_000)
  .superRefine((text, context) => {
    const fault = templateFault(text)
    if (fault !== undefined) context.addIssue({ code: 'custom', message: fault })
  })
/** A placeholder must replace the whole address. As a part of an address, it would let a sender choose the host. */
const destination = z.union(
  [address, z.string().regex(/^\{\{\/[^{}]*\}\}$/)],
  'must be an http(s) URL, or one place of the body: {{/reply_to}}',
)
const secret = z.string().min(1)
const value = z.custom<Json>((one) => one !== undefined)

const webhook = z.strictObject({
  tenant: z.string().refine(isTenant, 'must be 1–64 of a-z 0-9 -').default('default'),
  agent: z.string().min(1).max(128).default('default'),
  verify: z.strictObject({ preset: z.enum(PRESETS), secrets: z.array(secret).min(1).max(2) }),
  when: z.record(z.string().refine(isPointer, 'must be a JSON Pointer (RFC 6901)'), z.array(value).min(1)).default({}),
  text: template,
  session: template,
  owner: template.optional(),
  delivery: template.optional(),
  callback: z.strictObject({ url: destination, secret }).optional(),
})
const callback = z.strictObject({ url: address, secret })

/** The top-level fields of `agents.json` that belong to webhooks and callbacks. */
export const channelFields = {
  webhooks: z.record(name, webhook).default({}),
  callbacks: z.record(name, callback).default({}),
}

export interface ChannelSettings {
  readonly webhooks: ReadonlyMap<string, WebhookSettings>
  /** Callbacks by name. Callbacks of webhooks are named `webhook:<name>`. */
  readonly callbacks: ReadonlyMap<string, CallbackSettings>
}

/** Converts the file's webhooks and callbacks into settings of the program. */
export function channelSettings(file: z.output<z.ZodObject<typeof channelFields>>): ChannelSettings {
  const webhooks = Object.entries(file.webhooks).map(([key, { owner, delivery, callback: own, ...rest }]) => {
    return [key, { ...rest, name: key, ...definedFields({ owner, delivery, callback: own }) }] as const
  })
  const own = webhooks.flatMap(([key, { callback: to }]) => {
    if (to === undefined) return []
    return [[`webhook:${key}`, { secret: to.secret, ...(to.url.startsWith('{{') ? {} : { url: to.url }) }] as const]
  })
  return { webhooks: new Map(webhooks), callbacks: new Map([...Object.entries(file.callbacks), ...own]) }
}

/** Returns the callbacks that requests may name. Callbacks of webhooks are excluded. */
export const namedCallbacks = ({ callbacks }: ChannelSettings): ReadonlySet<string> =>
  new Set([...callbacks.keys()].filter((key) => !key.startsWith('webhook:')))

/** The names of all secrets in these settings. */
export const secretsOfChannels = ({ webhooks, callbacks }: ChannelSettings): string[] =>
  [
    ...[...webhooks.values()].flatMap(({ verify }) => verify.secrets),
    ...[...callbacks.values()].map((one) => one.secret),
  ].flatMap(secretNames)

interface Checked {
  readonly agents: ReadonlyMap<string, Agent>
  readonly allowedHosts: readonly string[]
  secret?(name: string): string | undefined
}

/**
 * Rejects webhooks and callbacks that cannot work: missing agents or secrets, agents that lack a required tool, secrets
 * that cannot sign, and forbidden addresses. Throws `SettingsError` with the path. `secret` is omitted if secrets are
 * read later.
 */
export function checkChannels(
  { webhooks, callbacks }: ChannelSettings,
  { agents, allowedHosts, secret: read }: Checked,
): void {
  for (const [key, { agent, verify }] of webhooks) {
    if (!agents.has(agent)) throw new SettingsError(`webhooks.${key}.agent: there is no agent ${JSON.stringify(agent)}`)
    const missing = missingTool(agents, agent, [])
    if (missing !== undefined) throw new SettingsError(`webhooks.${key}.agent: ${missingToolText(missing)}`)
    for (const [place, text] of verify.secrets.entries())
      checkSecret(`webhooks.${key}.verify.secrets.${place}`, text, verify.preset === 'standard', read)
  }
  for (const [key, { url, secret: text }] of callbacks) {
    const own = key.startsWith('webhook:') ? `webhooks.${key.slice('webhook:'.length)}.callback` : `callbacks.${key}`
    const refused = url === undefined ? undefined : refusedAddress(new URL(url), allowedHosts)
    if (refused !== undefined) throw new SettingsError(`${own}.url: ${refused}`)
    checkSecret(`${own}.secret`, text, true, read)
  }
}

function checkSecret(path: string, text: string, signs: boolean, read: Checked['secret']): void {
  if (read === undefined) return
  const missing = secretNames(text).find((one) => (read(one) ?? '') === '')
  if (missing !== undefined) throw new SettingsError(`${path}: there is no variable ${missing}`)
  if (signs && !isSigningSecret(withSecrets(text, read)))
    throw new SettingsError(`${path}: must be whsec_ followed by base64 (Standard Webhooks format)`)
}

/** Whether the text is non-empty base64, with or without the prefix `whsec_`. */
const isSigningSecret = (text: string): boolean =>
  /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/.test(text.replace(/^whsec_/, '')) &&
  text.replace(/^whsec_/, '') !== ''
