import type { BedrockSettings } from './model-settings.ts'

/**
 * Returns a provider of credentials from all sources of the AWS tools: variables, a profile, a login, or the machine's
 * role. The SDK is loaded on first use. It caches the credentials and renews them in time.
 */
export function defaultCredentials(region: string): NonNullable<BedrockSettings['credentials']> {
  let found: Promise<NonNullable<BedrockSettings['credentials']>> | undefined
  return async () => {
    found ??= import('@aws-sdk/client-sqs').then(({ SQSClient }) => new SQSClient({ region }).config.credentials)
    return (await found)()
  }
}
