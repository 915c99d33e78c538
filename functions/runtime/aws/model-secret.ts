import * as z from 'zod'
import { definedFields } from '../../domain/defined-fields.ts'
import type { ModelSettings } from '../../adapters/models/model-settings.ts'
import { environment, parse } from '../settings/config.ts'
import { SettingsError } from '../settings/settings-error.ts'
import { keySettings } from '../settings/model-variables.ts'
import { beforeEachLine } from '../settings/setting-text.ts'

/** Schema of the secret's fields for models and traces. */
const modelSecret = {
  ...environment.pick({ ANTHROPIC_API_KEY: true, OPENAI_API_KEY: true, MODEL_API_KEY: true }).shape,
  ...environment.pick({ MODEL_BASE_URL: true, AWS_BEARER_TOKEN_BEDROCK: true }).shape,
  ...environment.pick({ OTEL_EXPORTER_OTLP_HEADERS: true }).shape,
}

export interface SecretSettings {
  readonly models: ModelSettings
  readonly bedrockKey?: string
  readonly traceHeaders: Readonly<Record<string, string>>
  /** The value of a secret that a setting names; undefined if the secret lacks it. */
  named(name: string): string | undefined
}

/**
 * Parses a secret's text, a JSON object, into settings. `named`: further allowed fields, besides those of models and
 * traces. Throws `SettingsError`, which names the secret and the fault, but quotes nothing of the text.
 */
export function parseModelSecret(name: string, text: string, named: readonly string[] = []): SecretSettings {
  const value = parseJson(text)
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new SettingsError(`secret ${name}: is not a JSON object of settings`)
  try {
    const others = Object.fromEntries(named.map((field) => [field, z.string().optional()]))
    const fields = parse(z.strictObject({ ...others, ...modelSecret }), { ...value })
    const { AWS_BEARER_TOKEN_BEDROCK: bedrockKey, OTEL_EXPORTER_OTLP_HEADERS: traceHeaders = {}, ...keys } = fields
    const secrets: ReadonlyMap<string, unknown> = new Map(Object.entries(fields))
    return {
      models: keySettings(keys),
      traceHeaders,
      named: (field) => (named.includes(field) ? (secrets.get(field) as string | undefined) : undefined),
      ...definedFields({ bedrockKey }),
    }
  } catch (error) {
    throw error instanceof SettingsError ? new SettingsError(beforeEachLine(`secret ${name}: `, error.message)) : error
  }
}

/** Returns undefined if the text is not JSON. The parser's own error would quote the text. */
function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
