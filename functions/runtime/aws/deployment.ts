import type { CloudFormationClient } from '@aws-sdk/client-cloudformation'
import { z } from 'zod'
import { readStackOutputs } from '../../adapters/cloudformation/stack-outputs.ts'
import { SettingsError } from '../settings/settings-error.ts'

const text = z.string().min(1)
const Outputs = {
  data: z.object({ TableName: text, BucketName: text }),
  search: z.object({
    SearchEndpoint: z.url(),
    SearchKind: z.enum(['serverless', 'domain']),
    SearchName: text,
    SearchCopies: z.coerce.number().int().optional(),
  }),
  app: z.object({
    ApiUrl: z.url(),
    RunQueueUrl: z.url(),
    RunDeadLetterUrl: z.url(),
    PoisonQueueUrl: z.url(),
    StreamFailuresBucket: text,
    ApiLogGroup: text,
    WorkerLogGroup: text,
    IndexerLogGroup: text,
    SweeperLogGroup: text,
  }),
}

/**
 * Reads the resources of an environment from the outputs of its stacks. Rejects with `SettingsError` if the stacks are
 * not deployed, or were deployed by another version.
 */
export async function readDeployment(client: CloudFormationClient, environment: string) {
  const data = await outputsOf(client, environment, 'data')
  const search = await outputsOf(client, environment, 'search')
  const app = await outputsOf(client, environment, 'app')
  return {
    environment,
    table: data.TableName,
    bucket: data.BucketName,
    search: {
      endpoint: search.SearchEndpoint,
      kind: search.SearchKind,
      name: search.SearchName,
      copies: search.SearchCopies,
    },
    apiUrl: app.ApiUrl,
    queueUrl: app.RunQueueUrl,
    deadLetterUrl: app.RunDeadLetterUrl,
    indexDeadLetterUrl: app.PoisonQueueUrl,
    failuresBucket: app.StreamFailuresBucket,
    logGroups: [app.ApiLogGroup, app.WorkerLogGroup, app.IndexerLogGroup, app.SweeperLogGroup],
  }
}

async function outputsOf<Part extends keyof typeof Outputs>(
  client: CloudFormationClient,
  environment: string,
  part: Part,
): Promise<z.output<(typeof Outputs)[Part]>> {
  const stack = `tooltrail-${environment}-${part}`
  const outputs = await readStackOutputs(client, stack)
  if (outputs === undefined) {
    const region = await client.config.region()
    throw new SettingsError(
      `there is no stack ${stack} in ${region}. Deploy it with: npx cdk deploy -c env=${environment} --all`,
    )
  }
  const parsed = Outputs[part].safeParse(outputs)
  if (parsed.success) return parsed.data as z.output<(typeof Outputs)[Part]>
  const missing = parsed.error.issues.map(({ path }) => path.join('.')).join(', ')
  throw new SettingsError(`stack ${stack} has no output ${missing}: deploy this version of Tooltrail first`)
}
