import type { BedrockSettings } from './model-settings.ts'

/**
 * Credentials from wherever the tools of AWS find them: variables, a profile, a login, the role of the machine. The SDK is loaded
 * when they are asked for first; it keeps them, and renews them in time.
 */
export function defaultCredentials(region: string): NonNullable<BedrockSettings['credentials']> {
  let found: Promise<NonNullable<BedrockSettings['credentials']>> | undefined
  return async () => {
    found ??= import('@aws-sdk/client-sqs').then(({ SQSClient }) => new SQSClient({ region }).config.credentials)
    return (await found)()
  }
}
