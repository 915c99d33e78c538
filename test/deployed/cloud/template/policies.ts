import { z } from 'zod'
import type { Names } from './intrinsics.ts'
import { resolve } from './intrinsics.ts'
import type { RecordedCall } from '../recorded-call.ts'

const list = z.union([z.string().transform((one) => [one]), z.array(z.string())])
const Allowed = z.strictObject({
  Sid: z.string().optional(),
  Effect: z.literal('Allow'),
  Action: list,
  Resource: list,
})
/**
 * Schema of the only denial that policies may contain: no function may write items of these partitions. The denial is not
 * evaluated, because the recorder does not record the partition of a call.
 */
const NoApiKeys = z.strictObject({
  Sid: z.literal('NoApiKeys'),
  Effect: z.literal('Deny'),
  Action: list,
  Resource: list,
  Condition: z.strictObject({
    'ForAnyValue:StringLike': z.strictObject({
      'dynamodb:LeadingKeys': z.tuple([z.literal('K#*'), z.literal('KEYS')]),
    }),
  }),
})
const Document = z.object({ Statement: z.array(z.union([Allowed, NoApiKeys])) })
const Role = z.object({
  ManagedPolicyArns: z.tuple([]).optional(),
  Policies: z.array(z.object({ PolicyDocument: Document })).default([]),
})
const Policy = z.object({ Roles: z.array(z.string()).default([]), PolicyDocument: Document })
const DataAccess = z.array(
  z.object({
    Rules: z.array(z.object({ Resource: z.array(z.string()), Permission: z.array(z.string()) })),
    Principal: z.array(z.string()),
  }),
)

/** An action on a resource that a role may execute. Both may contain wildcards. */
export type Grant = RecordedCall

/**
 * Everything that the templates grant to the role with this ARN: its policies, and the data access policies of serverless
 * collections. Managed policies, other denials and conditions are refused, because this code cannot evaluate them.
 */
export function grantsOf(names: Names, roleArn: string): readonly Grant[] {
  const roleName = roleArn.split('/').at(-1) ?? ''
  const grants: Grant[] = []
  const add = ({ Statement: statements }: z.output<typeof Document>): void => {
    for (const { Effect, Action, Resource } of statements)
      for (const action of Effect === 'Allow' ? Action : [])
        for (const resource of Resource) grants.push({ action, resource })
  }
  for (const [stack, { Resources }] of names.stacks)
    for (const [id, { Type, Properties }] of Object.entries(Resources)) {
      const properties = (): unknown => resolve(names, stack, Properties, `${id}.Properties`)
      if (Type === 'AWS::IAM::Role' && names.attribute(stack, id, 'Arn') === roleArn)
        for (const { PolicyDocument } of Role.parse(properties()).Policies) add(PolicyDocument)
      if (Type === 'AWS::IAM::Policy') {
        const { Roles, PolicyDocument } = Policy.parse(properties())
        if (Roles.includes(roleName)) add(PolicyDocument)
      }
      if (Type === 'AWS::OpenSearchServerless::AccessPolicy') grants.push(...dataGrants(properties(), roleArn))
    }
  return grants
}

function dataGrants(properties: unknown, roleArn: string): Grant[] {
  const { Policy: text } = z.object({ Policy: z.string() }).parse(properties)
  return DataAccess.parse(JSON.parse(text))
    .filter(({ Principal }) => Principal.includes(roleArn))
    .flatMap(({ Rules }) => Rules)
    .flatMap(({ Resource, Permission }) =>
      Permission.flatMap((action) => Resource.map((resource) => ({ action, resource }))),
    )
}

/** Whether the grant allows the call. As in IAM, `*` matches any characters, `?` one. */
const allows = (grant: Grant, call: RecordedCall): boolean =>
  matches(grant.action.toLowerCase(), call.action.toLowerCase()) && matches(grant.resource, call.resource)

function matches(pattern: string, value: string): boolean {
  const escaped = pattern.replaceAll(/[.+^${}()|[\]\\]/g, String.raw`\$&`)
  return new RegExp(`^${escaped.replaceAll('*', '.*').replaceAll('?', '.')}$`, 's').test(value)
}

/** Calls that no grant allows, without duplicates. */
export const missingGrants = (names: Names, grants: readonly Grant[], calls: readonly RecordedCall[]): string[] =>
  named(
    names,
    calls.filter((call) => !grants.some((grant) => allows(grant, call))),
  )

/** Grants that no call needed, without duplicates. */
export const unusedGrants = (names: Names, grants: readonly Grant[], calls: readonly RecordedCall[]): string[] =>
  named(
    names,
    grants.filter((grant) => !calls.some((call) => allows(grant, call))),
  )

/** All grants without duplicates. */
export const allGrants = (names: Names, grants: readonly Grant[]): string[] => named(names, grants)

/** Text form of a permission: `s3:GetObject on OutputsBucket/*`. */
function named(names: Names, all: readonly RecordedCall[]): string[] {
  const labels = [...names.stacks].flatMap(([stack, { Resources }]) =>
    Object.entries(Resources).flatMap(([id, { Type }]): [string, string][] => {
      const arn = LABELLED.has(Type) ? names.attribute(stack, id, 'Arn') : undefined
      return arn === undefined ? [] : [[arn, id.replace(/[0-9A-F]{8}$/, '')]]
    }),
  )
  const labelOf = (resource: string): string => {
    const [arn, label] = labels.find(([start]) => resource.startsWith(start)) ?? ['', '']
    return label + resource.slice(arn.length)
  }
  return [...new Set(all.map(({ action, resource }) => `${action} on ${labelOf(resource)}`))].toSorted()
}

const LABELLED = new Set([
  'AWS::DynamoDB::Table',
  'AWS::S3::Bucket',
  'AWS::SQS::Queue',
  'AWS::SecretsManager::Secret',
  'AWS::Logs::LogGroup',
  'AWS::OpenSearchServerless::Collection',
])
