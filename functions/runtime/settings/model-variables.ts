import * as z from 'zod'
import { definedFields } from '../../domain/defined-fields.ts'
import { defaultCredentials } from '../../adapters/models/default-credentials.ts'
import type { ModelSettings } from '../../adapters/models/model-settings.ts'
import { httpAddress } from './setting-text.ts'

/** Default models. Without `MODEL`, the first of these providers that has a key is used. */
export const DEFAULT_MODELS = {
  anthropic: 'anthropic/claude-sonnet-5-5',
  openai: 'openai/gpt-5.6',
  bedrock: 'bedrock/us.anthropic.claude-sonnet-5-5',
} as const

const text = z.string().min(1)

/** Schema of the variables for models and providers. */
export const modelVariables = {
  MODEL_BASE_URL: httpAddress.optional(),
  MODEL_API_KEY: text.optional(),
  ANTHROPIC_API_KEY: text.optional(),
  OPENAI_API_KEY: text.optional(),
  AWS_REGION: text.optional(),
  AWS_ACCESS_KEY_ID: text.optional(),
  AWS_SECRET_ACCESS_KEY: text.optional(),
  AWS_SESSION_TOKEN: text.optional(),
  AWS_BEARER_TOKEN_BEDROCK: text.optional(),
  // The SDK reads these variables. This program only infers from them that credentials exist.
  AWS_PROFILE: text.optional(),
  AWS_WEB_IDENTITY_TOKEN_FILE: text.optional(),
  AWS_CONTAINER_CREDENTIALS_RELATIVE_URI: text.optional(),
  AWS_CONTAINER_CREDENTIALS_FULL_URI: text.optional(),
}

const Values = z.object(modelVariables)
type Values = z.output<typeof Values>

/**
 * Returns the default model of Bedrock for a region. An inference profile can be called only from the regions that it
 * covers.
 */
export const defaultBedrock = (region: string): string => {
  const profile = /^(us|eu)-(?!gov)/.exec(region)?.[1] ?? 'global'
  return DEFAULT_MODELS.bedrock.replace('/us.', `/${profile}.`)
}

type ModelKeys = Pick<Values, 'ANTHROPIC_API_KEY' | 'OPENAI_API_KEY' | 'MODEL_BASE_URL' | 'MODEL_API_KEY'>

/** Returns the providers' settings from the variables. */
export function modelSettings(values: Values): ModelSettings {
  return { ...keySettings(values), ...bedrockSettings(values) }
}

/** Returns the providers' settings from these keys and addresses. */
export function keySettings(values: ModelKeys): ModelSettings {
  const {
    ANTHROPIC_API_KEY: anthropic,
    OPENAI_API_KEY: openai,
    MODEL_BASE_URL: baseUrl,
    MODEL_API_KEY: apiKey,
  } = values
  return {
    ...(anthropic === undefined ? {} : { anthropic: { apiKey: anthropic } }),
    ...(openai === undefined ? {} : { openai: { apiKey: openai } }),
    ...(baseUrl === undefined ? {} : { server: { baseUrl, ...definedFields({ apiKey }) } }),
  }
}

/**
 * Returns the settings of Bedrock. If only a region is set, the SDK finds credentials itself, also in sources that no
 * variable names.
 */
function bedrockSettings(values: Values): Pick<ModelSettings, 'bedrock'> {
  const { AWS_REGION: region, AWS_BEARER_TOKEN_BEDROCK: apiKey } = values
  if (region === undefined) return {}
  if (apiKey !== undefined) return { bedrock: { region, apiKey } }
  return { bedrock: { region, credentials: defaultCredentials(region) } }
}

/** Whether the variables name credentials for Bedrock. If they do, the operator intends to use Bedrock. */
export function namesCredentials(values: Values): boolean {
  const { AWS_ACCESS_KEY_ID: id, AWS_SECRET_ACCESS_KEY: secret } = values
  const others = [
    values.AWS_BEARER_TOKEN_BEDROCK,
    values.AWS_PROFILE,
    values.AWS_WEB_IDENTITY_TOKEN_FILE,
    values.AWS_CONTAINER_CREDENTIALS_RELATIVE_URI,
    values.AWS_CONTAINER_CREDENTIALS_FULL_URI,
  ]
  return (id !== undefined && secret !== undefined) || others.some((value) => value !== undefined)
}
