import { z } from 'zod'
import { dynamodbClient, s3Client, sqsClient, streamsClient } from '../../../engines/clients.ts'
import { startApiGateway } from '../services/api-gateway.ts'
import type { Assembly } from './assembly.ts'
import { createFunctionPool } from '../services/function-pool.ts'
import type { FunctionPool } from '../services/function-pool.ts'
import { resolve } from './intrinsics.ts'
import type { Names } from './intrinsics.ts'
import { QueueProperties, TableProperties, makeBucket, makeCollection, makeQueue, makeTable } from './provision.ts'
import { QueueMappingProperties, startQueueMapping } from '../services/queue-mapping.ts'
import { nameResources, SEARCH_ORIGIN } from './resource-names.ts'
import { readApi } from '../services/rest-api.ts'
import { startSecrets } from './secrets.ts'
import { StreamMappingProperties, startStreamMapping } from '../services/stream-mapping.ts'
import { openStream } from '../services/stream-records.ts'
import type { StreamRecord } from '../services/stream-records.ts'

/** The engines that replace AWS; `lambda` is the runtime client. */
export interface Engines {
  readonly dynamodb: string
  readonly s3: string
  readonly sqs: string
  readonly opensearch: string
  readonly lambda: string
}

/** Pattern for the functions' indexes in the collection. The alias of these indexes is `history`. */
const HISTORY_INDEXES = 'history-v*'

/** A resource of a type, with its properties resolved. */
interface Found {
  readonly stack: string
  readonly id: string
  readonly properties: unknown
  readonly ref: string
  readonly arn: string
}

/** A running system with the resources of its templates. */
export interface Deployment {
  readonly names: Names
  readonly apiUrl: string
  /** Functions by name. */
  readonly functions: ReadonlyMap<string, FunctionPool>
  /** The ARN of a function's role. */
  roleOf(functionName: string): string
  /** An output of a stack. Addresses of queues and of the collection are those of the engines. */
  output(stack: string, id: string): string
  /** All outputs of a stack. */
  outputs(stack: string): Readonly<Record<string, string>>
  /** Invokes the targets of all schedules. */
  tick(): Promise<void>
  remove(): Promise<void>
}

interface Options {
  readonly engines: Engines
  /** The value of a secret, by its name. */
  readonly secretOf: (name: string) => string | undefined
  /** Adds to a record the fields that DynamoDB sets but the engine's stream lacks. */
  readonly complete: (record: StreamRecord) => StreamRecord
  /** Seconds after which failed messages reappear, instead of the queue's visibility timeout. */
  readonly retrySeconds: number
}

const FunctionProperties = z.object({
  Code: z.object({ S3Key: z.string() }),
  Handler: z.string(),
  Role: z.string(),
  Runtime: z.literal('nodejs24.x'),
  Environment: z.object({ Variables: z.record(z.string(), z.string()) }),
  Timeout: z.int(),
  MemorySize: z.int(),
})
const Rule = z.object({
  /** A rule without a schedule matches events of AWS services, which do not occur in this system. */
  ScheduleExpression: z.string().optional(),
  State: z.literal('ENABLED'),
  Targets: z.array(z.object({ Arn: z.string() })),
})

type Undo = (() => Promise<unknown>)[]
type Queue = Awaited<ReturnType<typeof makeQueue>>
type Redriving = { readonly properties: z.output<typeof QueueProperties> }

const byRedrive = (one: Redriving, other: Redriving): number =>
  Number(one.properties.RedrivePolicy !== undefined) - Number(other.properties.RedrivePolicy !== undefined)

/**
 * Creates the resources of the templates in the engines, and starts the connections between them. A failure removes everything
 * again.
 */
export async function deploy(assembly: Assembly, options: Options): Promise<Deployment> {
  const undo: Undo = []
  const remove = async (): Promise<void> => {
    for (const step of undo.splice(0).toReversed()) await step()
  }
  try {
    return { ...(await build(assembly, options, undo)), remove }
  } catch (error) {
    await remove()
    throw error
  }
}

async function build({ stacks, asset }: Assembly, options: Options, undo: Undo): Promise<Omit<Deployment, 'remove'>> {
  const { engines } = options
  const names = nameResources(stacks)
  const all = (...types: readonly string[]): Found[] => findAll(names, types)
  const [dynamodb, s3, sqs] = [dynamodbClient(engines.dynamodb), s3Client(engines.s3), sqsClient(engines.sqs)]
  const streams = streamsClient(engines.dynamodb)
  const streamArns = new Map<string, string>()
  for (const { properties, ref, stack, id } of all('AWS::DynamoDB::Table')) {
    const table = await makeTable(dynamodb, ref, TableProperties.parse(properties))
    undo.push(() => table.remove())
    const arn = names.attribute(stack, id, 'StreamArn')
    if (table.streamArn !== undefined && arn !== undefined) streamArns.set(arn, table.streamArn)
  }
  for (const { ref } of all('AWS::S3::Bucket')) {
    const bucket = await makeBucket(s3, ref)
    undo.push(() => bucket.remove())
  }
  const collection = await makeCollection(engines.opensearch, HISTORY_INDEXES)
  undo.push(() => collection.remove())
  const queues = new Map<string, Queue>()
  const queueList = all('AWS::SQS::Queue').map(({ properties, ...found }) => ({
    ...found,
    properties: QueueProperties.parse(properties),
  }))
  // Dead-letter queues are created before the queues that name them.
  for (const { properties, ref, arn } of queueList.toSorted(byRedrive)) {
    const name = ref.split('/').at(-1) ?? ''
    const queue = await makeQueue(sqs, name, properties, (dead) => known(queues, dead).arn)
    undo.push(() => queue.remove())
    queues.set(arn, queue)
  }

  const secretNames = new Map(all('AWS::SecretsManager::Secret').map(({ arn }) => [arn, nameOfSecret(arn)]))
  const secrets = await startSecrets((id) => {
    const name = secretNames.get(id) ?? id
    return [...secretNames.values()].includes(name) ? options.secretOf(name) : undefined
  })
  undo.push(() => secrets.stop())
  const surroundings = {
    client: engines.lambda,
    engines: { ...engines, secretsmanager: secrets.endpoint },
    search: all('AWS::OpenSearchServerless::Collection')[0]?.ref ?? all('AWS::OpenSearchService::Domain')[0]?.arn ?? '',
  }
  const byArn = new Map<string, FunctionPool>()
  const byName = new Map<string, FunctionPool>()
  const roles = new Map<string, string>()
  for (const { properties, ref, arn } of all('AWS::Lambda::Function')) {
    const { Code, Handler, Role, Environment, Timeout, MemorySize } = FunctionProperties.parse(properties)
    const settings = { name: ref, arn, folder: asset(Code.S3Key), handler: Handler }
    const limits = { timeoutMs: Timeout * 1_000, memoryMb: MemorySize, environment: Environment.Variables }
    const pool = createFunctionPool({ ...settings, ...limits }, surroundings)
    undo.push(() => pool.recycle())
    byArn.set(arn, pool)
    byName.set(ref, pool)
    roles.set(ref, Role)
  }

  for (const { properties } of all('AWS::Lambda::EventSourceMapping')) {
    const source = z.object({ EventSourceArn: z.string() }).parse(properties).EventSourceArn
    if (source.startsWith('arn:aws:sqs:')) {
      const parsed = QueueMappingProperties.parse(properties)
      const pool = known(byName, parsed.FunctionName)
      const queueUrl = known(queues, source).url
      const mapping = startQueueMapping({ ...options, properties: parsed, pool, client: sqs, queueUrl })
      undo.push(() => mapping.stop())
    } else {
      const parsed = StreamMappingProperties.parse(properties)
      const pool = known(byName, parsed.FunctionName)
      const stream = await openStream(streams, known(streamArns, source), source)
      const mapping = startStreamMapping({ properties: parsed, pool, stream, s3, complete: options.complete })
      undo.push(() => mapping.stop())
    }
  }
  const api = await startApiGateway(readApi(names, byArn))
  undo.push(() => api.stop())

  function output(stack: string, id: string): string {
    const value = resolve(names, stack, stacks.get(stack)?.Outputs[id]?.Value, `Outputs.${id}`)
    const queue = queueList.find(({ ref }) => ref === value)
    return queue === undefined ? String(value).replace(SEARCH_ORIGIN, engines.opensearch) : known(queues, queue.arn).url
  }

  return {
    names,
    apiUrl: api.url,
    functions: byName,
    roleOf: (functionName) => known(roles, functionName),
    output,
    outputs: (stack) =>
      Object.fromEntries(Object.keys(stacks.get(stack)?.Outputs ?? {}).map((id) => [id, output(stack, id)])),
    async tick() {
      for (const { properties, arn } of all('AWS::Events::Rule')) {
        const { ScheduleExpression: schedule, Targets: targets } = Rule.parse(properties)
        for (const target of schedule === undefined ? [] : targets) {
          const event = { source: 'aws.events', 'detail-type': 'Scheduled Event', resources: [arn], detail: {} }
          const outcome = await known(byArn, target.Arn).invoke(event)
          if (!outcome.ok) throw new Error(`${outcome.errorType}: ${outcome.message}`)
        }
      }
    },
  }
}

function findAll(names: Names, types: readonly string[]): Found[] {
  return [...names.stacks].flatMap(([stack, { Resources }]) =>
    Object.entries(Resources)
      .filter(([, { Type }]) => types.includes(Type))
      .map(([id, { Properties }]) => ({
        stack,
        id,
        properties: resolve(names, stack, Properties, `${id}.Properties`),
        ref: names.ref(stack, id),
        arn: names.attribute(stack, id, 'Arn') ?? '',
      })),
  )
}

/** A secret's ARN ends with a dash and six random characters. */
const nameOfSecret = (arn: string): string => (arn.split(':').at(-1) ?? '').slice(0, -7)

function known<Value>(map: ReadonlyMap<string, Value>, key: string): Value {
  const value = map.get(key)
  if (value === undefined) throw new Error(`the templates name ${key}, which they do not make`)
  return value
}
