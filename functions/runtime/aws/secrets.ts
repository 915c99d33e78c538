import { SecretsProvider } from '@aws-lambda-powertools/parameters/secrets'
import type { SecretsManagerClient } from '@aws-sdk/client-secrets-manager'
import { createModels } from '../../adapters/models/models.ts'
import type { BedrockSettings, FetchFunction } from '../../adapters/models/model-settings.ts'
import type { Logger } from '../../ports/logger.ts'
import type { Models } from '../../ports/model.ts'
import { ModelError } from '../../ports/model.ts'
import { SettingsError } from '../config.ts'
import { parseModelSecret } from './model-secret.ts'

/** Seconds after which a changed key is used at the latest. */
const SECRET_SECONDS = 300

interface Dependencies {
  readonly client: SecretsManagerClient
  /** Name or ARN. */
  readonly secret: string
  /** Used if the secret holds no key for Bedrock. */
  readonly bedrock: BedrockSettings
  readonly logger: Pick<Logger, 'warn'>
  /** @default the global one */
  readonly fetch?: FetchFunction
}

/**
 * Models whose keys are in a secret, read when the first model is opened and again every five minutes, so that a rotated key is
 * used; while the secret cannot be read, the last good one stays in use. Rejects with `ModelError`, which names the secret.
 */
export function createSecretModels({ client, secret, bedrock, logger, fetch }: Dependencies): Models {
  const provider = new SecretsProvider({ awsSdkV3Client: client })
  let current: { readonly text: string; readonly models: Models } | undefined

  async function read(): Promise<Models> {
    const text = await provider.get(secret, { maxAge: SECRET_SECONDS })
    if (typeof text !== 'string') throw new SettingsError(`secret ${secret}: has no text`)
    if (current?.text === text) return current.models
    const { models, bedrockKey } = parseModelSecret(secret, text)
    const settings = {
      ...models,
      bedrock: bedrockKey === undefined ? bedrock : { region: bedrock.region, apiKey: bedrockKey },
    }
    current = { text, models: createModels({ settings, ...(fetch === undefined ? {} : { fetch }) }) }
    return current.models
  }

  async function readOrKeep(): Promise<Models> {
    try {
      return await read()
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error)
      if (current !== undefined) {
        logger.warn('the model settings cannot be read, going on with the previous ones', { secret, error: reason })
        return current.models
      }
      const text = error instanceof SettingsError ? reason : `secret ${secret}: cannot be read: ${reason}`
      throw new ModelError('authentication', text, { retryable: !(error instanceof SettingsError), cause: error })
    }
  }

  return { open: async (name) => (await readOrKeep()).open(name) }
}
