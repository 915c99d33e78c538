import { createDynamoKeyStore } from '../../functions/adapters/dynamodb/key-store.ts'
import { createSystemClock } from '../../functions/adapters/memory/system-clock.ts'
import { runKeys } from '../cli/commands/keys/run-keys.ts'
import { createClient } from '../e2e/backend/client.ts'
import type { Client } from '../e2e/backend/client.ts'
import { dynamodbClient } from '../engines/clients.ts'
import type { OpenAiServer } from '../model-server/openai-server.ts'
import type { Assembly } from './cloud/template/assembly.ts'
import { deploy } from './cloud/template/deployment.ts'
import type { Deployment, Engines } from './cloud/template/deployment.ts'
import type { FunctionPool } from './cloud/services/function-pool.ts'
import { RETRY_SECONDS, withDeclaredChanges } from './declared-changes.ts'
import { startModel } from './model-script.ts'
import { openOutside } from './outside.ts'
import type { Outside } from './outside.ts'

/** The tested environment. `DEPLOYED=prod npm run test:engines -- test/deployed` tests another one. */
export const ENVIRONMENT = process.env['DEPLOYED'] ?? 'dev'
const FUNCTIONS = ['Api', 'Worker', 'Indexer', 'Sweeper'] as const
export type FunctionName = (typeof FUNCTIONS)[number]

/** The deployed system, with the objects that its tests use. */
export interface System {
  readonly deployment: Deployment
  readonly engines: Engines
  readonly functions: { readonly [name in FunctionName]: FunctionPool }
  readonly model: OpenAiServer
  readonly outside: Outside
  /** The API with a key of the tenant. */
  readonly client: Client
  /** The API with a key of another tenant. */
  readonly stranger: Client
  /** The API with another key of the tenant, which has these caps. */
  withCaps(...caps: readonly string[]): Promise<Client>
  readonly table: string
  /** Makes the stream report the item's later removal as an expiry by DynamoDB. */
  expires(item: { readonly pk: string; readonly sk: string }): void
  remove(): Promise<void>
}

/** Runs the synthesised environment on the engines. */
export async function startSystem(assembly: Assembly, engines: Engines): Promise<System> {
  const model = await startModel()
  const outside = await openOutside()
  const expired = new Set<string>()
  const deployment = await deploy(withDeclaredChanges(assembly, outside.variables), {
    engines,
    retrySeconds: RETRY_SECONDS,
    secretOf: () =>
      JSON.stringify({ MODEL_BASE_URL: model.baseUrl, MODEL_API_KEY: 'from the secret', ...outside.secrets }),
    complete(record) {
      if (record.eventName !== 'REMOVE' || !expired.has(keyOf(record.dynamodb.Keys))) return record
      return { ...record, userIdentity: { type: 'Service', principalId: 'dynamodb.amazonaws.com' } }
    },
  })
  const table = deployment.output(`tooltrail-${ENVIRONMENT}-data`, 'TableName')
  const clock = createSystemClock()
  const keys = createDynamoKeyStore({ client: dynamodbClient(engines.dynamodb), tableName: table, clock })
  const clientOf = async (tenant: string, ...caps: readonly string[]): Promise<Client> => {
    const words = ['create', '--tenant', tenant, '--scope', 'admin', ...caps]
    const { output } = await runKeys({ keys, clock }, words)
    return createClient(deployment.apiUrl, { authorization: `Bearer ${output.trim()}` })
  }
  return {
    deployment,
    engines,
    functions: functionsOf(deployment),
    model,
    outside,
    client: await clientOf('acme'),
    stranger: await clientOf('other'),
    withCaps: (...caps) => clientOf('acme', ...caps),
    table,
    expires: ({ pk, sk }) => void expired.add(keyOf({ pk: { S: pk }, sk: { S: sk } })),
    async remove() {
      await deployment.remove()
      await model.close()
      await outside.close()
    },
  }
}

/** Text form of an item's key, equal for any order of the attributes. */
function keyOf(keys: unknown): string {
  const { pk, sk } = keys as { readonly pk?: { readonly S?: string }; readonly sk?: { readonly S?: string } }
  return `${pk?.S} ${sk?.S}`
}

function functionsOf({ names, functions }: Deployment): System['functions'] {
  const found = FUNCTIONS.map((name) => {
    for (const [stack, { Resources }] of names.stacks)
      for (const [id, { Type }] of Object.entries(Resources)) {
        if (Type !== 'AWS::Lambda::Function' || !new RegExp(`^Tooltrail${name}[0-9A-F]{8}$`).test(id)) continue
        const pool = functions.get(names.ref(stack, id))
        if (pool !== undefined) return [name, pool] as const
      }
    throw new Error(`the templates have no function ${name}`)
  })
  if (found.length !== functions.size) throw new Error('the templates have functions that nobody tests')
  return Object.fromEntries(found) as System['functions']
}
