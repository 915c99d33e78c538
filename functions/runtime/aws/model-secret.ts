import * as z from 'zod'
import type { ModelSettings } from '../../adapters/models/model-settings.ts'
import { environment, parse, SettingsError } from '../config.ts'
import { keySettings } from '../model-variables.ts'

/** The fields of a secret of model settings. */
const modelSecret = z.strictObject({
  ...environment.pick({ ANTHROPIC_API_KEY: true, OPENAI_API_KEY: true, MODEL_API_KEY: true }).shape,
  ...environment.pick({ MODEL_BASE_URL: true, AWS_BEARER_TOKEN_BEDROCK: true }).shape,
})

/**
 * The settings of models in a secret's text, a JSON object. Throws `SettingsError`, which names the secret and what is wrong with
 * it, and quotes nothing.
 */
export function parseModelSecret(name: string, text: string): { models: ModelSettings; bedrockKey?: string } {
  const value = parseJson(text)
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new SettingsError(`secret ${name}: is not a JSON object of settings`)
  try {
    const { AWS_BEARER_TOKEN_BEDROCK: bedrockKey, ...keys } = parse(modelSecret, { ...value })
    return { models: keySettings(keys), ...(bedrockKey === undefined ? {} : { bedrockKey }) }
  } catch (error) {
    throw error instanceof SettingsError ? new SettingsError(`secret ${name}: ${error.message}`) : error
  }
}

/** Undefined for a text that is not JSON: the parser's own error would quote it. */
function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
