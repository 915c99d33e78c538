import { startEngine } from '../../engines/engines.ts'
import type { Engine } from '../../engines/process.ts'
import type { AwsEndpoints } from './aws-backend.ts'

export interface AwsEngines {
  readonly endpoints: AwsEndpoints
  stop(): Promise<void>
}

/** Starts the engines of the program. If one is unavailable, returns undefined and prints which tests are skipped. */
export async function startAwsEngines(purpose: string): Promise<AwsEngines | undefined> {
  const outcomes = await Promise.allSettled((['dynamodb', 'opensearch', 's3', 'sqs'] as const).map(startEngine))
  const engines = outcomes.flatMap((outcome): Engine[] => (outcome.status === 'fulfilled' ? [outcome.value] : []))
  const stop = async (): Promise<void> => {
    await Promise.all(engines.map((engine) => engine.stop()))
  }
  const [dynamodb, opensearch, s3, sqs] = engines.map(({ endpoint }) => endpoint)
  if (dynamodb !== undefined && opensearch !== undefined && s3 !== undefined && sqs !== undefined)
    return { endpoints: { dynamodb, opensearch, s3, sqs }, stop }
  const reasons = outcomes.flatMap((outcome) => (outcome.status === 'rejected' ? [String(outcome.reason)] : []))
  console.error(`${purpose} left out, for an engine cannot be had: ${reasons.join('; ').split('\n')[0]}`)
  await stop()
  return undefined
}
