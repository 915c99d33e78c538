import type { Logger } from '../../ports/logger.ts'
import type { Secret } from '../aws/secrets.ts'
import { slackSecrets } from '../settings/slack-settings.ts'
import { DEFAULT_SLACK } from '../../channels/slack/settings.ts'

/** Throws what is wrong with settings; with `read`, also what is wrong with the secrets that they name. */
export type SecretsUse = (read?: (name: string) => string | undefined) => void

interface Dependencies {
  readonly checks: readonly SecretsUse[]
  /** Secrets that the settings name, and those of every Slack app. */
  readonly names: readonly string[]
  readonly logger: Pick<Logger, 'error'>
  /** Counts for an alarm. */
  readonly count: (missing: number) => void
}

/**
 * Returns what says in the log, and to an alarm, which secrets the settings name and the deployment's secret lacks: once, however
 * often it is called. The process goes on: everything else works. Nothing is read if the settings name no secret. Never rejects.
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
