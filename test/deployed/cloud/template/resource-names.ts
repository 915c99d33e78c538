import { createHash } from 'node:crypto'
import { resolve } from './intrinsics.ts'
import type { Names } from './intrinsics.ts'
import type { Resource, Template } from './assembly.ts'
import { REGION } from '../../../engines/region.ts'

export const ACCOUNT = '000000000000'

/** Prefixes of two services' addresses on AWS. In a function's environment, the engines' addresses replace them. */
export const QUEUE_ORIGIN = `https://sqs.${REGION}.amazonaws.com`
export const SEARCH_ORIGIN = `https://history.${REGION}.aoss.amazonaws.com`

interface Naming {
  /** The property that sets the resource's name, if there is one. */
  readonly property?: string
  /** The name that CloudFormation would generate from the logical id. Set only if the name matters. */
  readonly generate?: (id: string) => string
  /** Value of `Ref`. Defaults to the name. */
  readonly ref?: (name: string, arn: string) => string
  /** Builds the resource's ARN. For some types of API Gateway, the name replaces the ARN. */
  readonly arn: (name: string) => string
  readonly attributes?: (name: string, arn: string) => Readonly<Record<string, string>>
}

const PREFIX = `arn:aws:%:${REGION}:${ACCOUNT}`
const arnOf = (service: string, rest: string): string => `${PREFIX.replace('%', service)}:${rest}`
const refIsArn = (_: string, arn: string): string => arn

const TABLE: Naming = {
  property: 'TableName',
  arn: (name) => arnOf('dynamodb', `table/${name}`),
  attributes: (_, arn) => ({ StreamArn: `${arn}/stream/1` }),
}

/** Types of resources that other resources refer to. A reference to any other type fails with the name of the type. */
const NAMING: Readonly<Record<string, Naming>> = {
  'AWS::DynamoDB::Table': TABLE,
  'AWS::DynamoDB::GlobalTable': TABLE,
  'AWS::S3::Bucket': {
    property: 'BucketName',
    arn: (name) => `arn:aws:s3:::${name}`,
    attributes: (name) => ({ DomainName: `${name}.s3.amazonaws.com` }),
  },
  'AWS::SQS::Queue': {
    property: 'QueueName',
    ref: (name) => `${QUEUE_ORIGIN}/${ACCOUNT}/${name}`,
    arn: (name) => arnOf('sqs', name),
    attributes: (name) => ({ QueueName: name, QueueUrl: `${QUEUE_ORIGIN}/${ACCOUNT}/${name}` }),
  },
  'AWS::Lambda::Function': { property: 'FunctionName', arn: (name) => arnOf('lambda', `function:${name}`) },
  'AWS::Lambda::EventSourceMapping': { arn: (name) => arnOf('lambda', `event-source-mapping:${name}`) },
  'AWS::Logs::LogGroup': { property: 'LogGroupName', arn: (name) => arnOf('logs', `log-group:${name}:*`) },
  'AWS::IAM::Role': {
    property: 'RoleName',
    arn: (name) => `arn:aws:iam::${ACCOUNT}:role/${name}`,
    attributes: (name) => ({ RoleId: name }),
  },
  'AWS::SecretsManager::Secret': {
    property: 'Name',
    ref: refIsArn,
    generate: (id) => `${id}-0a1B2c3D4e5F`,
    arn: (name) => arnOf('secretsmanager', `secret:${name}-AbCdEf`),
    attributes: (_, arn) => ({ Id: arn }),
  },
  'AWS::KMS::Key': { arn: (name) => arnOf('kms', `key/${name}`), attributes: (name) => ({ KeyId: name }) },
  'AWS::SNS::Topic': { property: 'TopicName', ref: refIsArn, arn: (name) => arnOf('sns', name) },
  'AWS::ApiGateway::RestApi': {
    arn: (name) => `arn:aws:apigateway:${REGION}::/restapis/${name}`,
    attributes: (name) => ({ RestApiId: name, RootResourceId: 'root' }),
  },
  'AWS::ApiGateway::Resource': { arn: (name) => name, attributes: (name) => ({ ResourceId: name }) },
  'AWS::ApiGateway::Method': { arn: (name) => name },
  'AWS::ApiGateway::Deployment': { arn: (name) => name },
  'AWS::Events::Rule': { property: 'Name', arn: (name) => arnOf('events', `rule/${name}`) },
  'AWS::ApiGateway::Stage': { property: 'StageName', arn: (name) => name },
  'AWS::OpenSearchServerless::Collection': {
    property: 'Name',
    // On AWS, a collection also has an id. Here, its name serves as the id.
    arn: (name) => arnOf('aoss', `collection/${name}`),
    attributes: (name) => ({ Id: name, CollectionEndpoint: SEARCH_ORIGIN }),
  },
  'AWS::OpenSearchServerless::CollectionGroup': {
    property: 'Name',
    arn: (name) => arnOf('aoss', `collection-group/${name}`),
    attributes: (name) => ({ Id: name }),
  },
  'AWS::OpenSearchService::Domain': {
    property: 'DomainName',
    arn: (name) => arnOf('es', `domain/${name}`),
    attributes: () => ({ DomainEndpoint: new URL(SEARCH_ORIGIN).host }),
  },
}

/** Names every resource of the templates: by its properties, otherwise by its logical id. */
export function nameResources(stacks: ReadonlyMap<string, Template>): Names {
  const names: Names = {
    stacks,
    account: ACCOUNT,
    region: REGION,
    ref(stack, id) {
      const { naming, name } = look(stack, id)
      return naming.ref?.(name, naming.arn(name)) ?? name
    },
    attribute(stack, id, wanted) {
      const { naming, name } = look(stack, id)
      const arn = naming.arn(name)
      return { Arn: arn, ...naming.attributes?.(name, arn) }[wanted]
    },
  }
  function look(stack: string, id: string): { naming: Naming; name: string } {
    const resource = stacks.get(stack)?.Resources[id]
    const naming = NAMING[resource?.Type ?? '']
    if (resource === undefined || naming === undefined)
      throw new Error(`${stack}.${id}: ${resource?.Type ?? 'a missing resource'} is not known here`)
    return { naming, name: given(stack, id, resource, naming) ?? (naming.generate ?? generated)(id, stack) }
  }
  function given(stack: string, id: string, { Properties }: Resource, { property }: Naming): string | undefined {
    if (property === undefined) return undefined
    const value = resolve(names, stack, Properties[property], `${id}.Properties.${property}`)
    return typeof value === 'string' ? value : undefined
  }
  return names
}

/** Generates a name that is short enough for every service, in lower case for buckets. */
function generated(id: string, stack: string): string {
  const hash = createHash('sha256').update(`${stack}/${id}`).digest('hex').slice(0, 8)
  return (
    `${stack}-${id}`
      .toLowerCase()
      .replaceAll(/[^a-z0-9-]/g, '')
      .slice(0, 50) + `-${hash}`
  )
}
