import type { Logger } from '../../ports/logger.ts'
import type { Secret } from '../aws/secrets.ts'
import { slackSecrets } from '../settings/slack-settings.ts'
import { DEFAULT_SLACK } from '../../channels/slack/settings.ts'

/**
 * Throws if settings are invalid. `read` returns the value of a secret that settings name. If `read` is absent, secrets
 * are not checked.
 */
export type SecretsUse = (read?: (name: string) => string | undefined) => void

interface Dependencies {
  readonly checks: readonly SecretsUse[]
  /** Secrets that the settings name, and the secrets of every Slack app. */
  readonly names: readonly string[]
  readonly logger: Pick<Logger, 'error'>
  /** Counts missing secrets for an alarm. */
  readonly count: (missing: number) => void
}

/**
 * Returns a function that checks whether the deployment's secret has every value that settings name. It logs what is
 * missing, and counts the faults for an alarm. Only its first call makes the check.
 *
 * The process continues, because everything else works. If settings name only the secrets of every Slack app, the
 * deployment's secret is not read. The function never rejects.
 */
export function createSecretsCheck(
  secret: Pick<Secret, 'name' | 'read'>,
  dependencies: Dependencies,
): () => Promise<void> {
  let checked: Promise<void> | undefined
  return () => (checked ??= check(secret, dependencies))
}

async function check(
  secret: Pick<Secret, 'name' | 'read'>,
  { checks, names, logger, count }: Dependencies,
): Promise<void> {
  const always = slackSecrets(DEFAULT_SLACK)
  if (names.every((name) => always.includes(name))) return
  const faults: unknown[] = []
  try {
    const { named } = await secret.read()
    for (const one of checks)
      try {
        one(named)
      } catch (error) {
        faults.push(error)
      }
  } catch (error) {
    faults.push(error)
  }
  for (const fault of faults) logger.error(`secret ${secret.name} lacks what settings name`, fault)
  count(faults.length)
}
