import type { SecretsProvider } from '@aws-lambda-powertools/parameters/secrets'
import type { SecretsManagerClientConfig } from '@aws-sdk/client-secrets-manager'
import { definedFields } from '../../domain/defined-fields.ts'
import { createModels } from '../../adapters/models/models.ts'
import type { BedrockSettings, FetchFunction } from '../../adapters/models/model-settings.ts'
import type { Logger } from '../../ports/logger.ts'
import type { Models } from '../../ports/model.ts'
import { ModelError } from '../../ports/model.ts'
import { SettingsError } from '../settings/settings-error.ts'
import { parseModelSecret } from './model-secret.ts'
import type { SecretSettings } from './model-secret.ts'

/** Maximum time until a changed secret is in use, in seconds. */
const SECRET_SECONDS = 300

/** A secret's settings. They are read on first use and again every five minutes, so that a rotated key is used. */
export interface Secret {
  /** Name or ARN. */
  readonly name: string
  /**
   * Returns the settings: the identical object until the secret changes. Rejects with `SettingsError` if the secret
   * cannot be used.
   */
  read(): Promise<SecretSettings>
}

/** Opens a secret. `named`: further allowed fields, besides those of models and traces. */
export function openSecret(config: SecretsManagerClientConfig, name: string, named: readonly string[] = []): Secret {
  let opening: Promise<SecretsProvider> | undefined
  let last: { readonly text: string; readonly settings: SecretSettings } | undefined
  return {
    name,
    async read() {
      opening ??= openProvider(config)
      const text = await (await opening).get(name, { maxAge: SECRET_SECONDS })
      if (typeof text !== 'string') throw new SettingsError(`secret ${name}: has no text`)
      if (last?.text !== text) last = { text, settings: parseModelSecret(name, text, named) }
      return last.settings
    },
  }
}

/** Loads the client when a secret is first read, because most starts of a function read no secret. */
async function openProvider(config: SecretsManagerClientConfig): Promise<SecretsProvider> {
  const { SecretsProvider } = await import('@aws-lambda-powertools/parameters/secrets')
  const { SecretsManagerClient } = await import('@aws-sdk/client-secrets-manager')
  return new SecretsProvider({ awsSdkV3Client: new SecretsManagerClient(config) })
}

interface Dependencies {
  readonly secret: Secret
  /** Settings of Bedrock that apply if the secret has no key for Bedrock. */
  readonly bedrock: BedrockSettings
  readonly logger: Pick<Logger, 'warn'>
  /** @default the global `fetch` */
  readonly fetch?: FetchFunction
}

/**
 * Opens models whose keys are in a secret. The secret is read when the first model is opened. While the secret cannot
 * be read, the last valid keys stay in use. Rejects with `ModelError`, which names the secret.
 */
export function createSecretModels({ secret, bedrock, logger, fetch }: Dependencies): Models {
  let current: { readonly settings: SecretSettings; readonly models: Models } | undefined

  async function read(): Promise<Models> {
    const settings = await secret.read()
    if (current?.settings === settings) return current.models
    const { models, bedrockKey } = settings
    const all = {
      ...models,
      bedrock: bedrockKey === undefined ? bedrock : { region: bedrock.region, apiKey: bedrockKey },
    }
    current = { settings, models: createModels({ settings: all, ...definedFields({ fetch }) }) }
    return current.models
  }

  async function readOrKeep(): Promise<Models> {
    try {
      return await read()
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error)
      if (current !== undefined) {
        logger.warn('could not read the model settings: continuing with the previous ones', {
          secret: secret.name,
          error: reason,
        })
        return current.models
      }
      const text = error instanceof SettingsError ? reason : `secret ${secret.name}: cannot be read: ${reason}`
      throw new ModelError('authentication', text, { retryable: !(error instanceof SettingsError), cause: error })
    }
  }

  return { open: async (name) => (await readOrKeep()).open(name) }
}
