import { expect, test } from 'vitest'
import type { Template } from './assembly.ts'
import { grantsOf, missingGrants, unusedGrants } from './policies.ts'
import { nameResources } from './resource-names.ts'
import { REGION } from '../../../engines/region.ts'

const ROLE = 'arn:aws:iam::000000000000:role/worker'

function namesWith(Action: readonly string[]) {
  const Statement = [{ Effect: 'Allow', Action, Resource: { 'Fn::GetAtt': ['Log0A1B2C3D', 'Arn'] } }]
  const template: Template = {
    Resources: {
      Log0A1B2C3D: { Type: 'AWS::DynamoDB::Table', Properties: { TableName: 'log' } },
      Role: { Type: 'AWS::IAM::Role', Properties: { RoleName: 'worker' } },
      Policy: { Type: 'AWS::IAM::Policy', Properties: { Roles: [{ Ref: 'Role' }], PolicyDocument: { Statement } } },
      Access: {
        Type: 'AWS::OpenSearchServerless::AccessPolicy',
        Properties: {
          Policy: JSON.stringify([
            { Rules: [{ Resource: ['index/c/history*'], Permission: ['aoss:ReadDocument'] }], Principal: [ROLE] },
            { Rules: [{ Resource: ['index/c/*'], Permission: ['aoss:DeleteIndex'] }], Principal: ['somebody else'] },
          ]),
        },
      },
    },
    Outputs: {},
    Parameters: {},
    Mappings: {},
    Conditions: {},
  }
  return nameResources(new Map([['app', template]]))
}

const update = { action: 'dynamodb:UpdateItem', resource: `arn:aws:dynamodb:${REGION}:000000000000:table/log` }
const query = { action: 'dynamodb:Query', resource: `${update.resource}/index/by_due` }
const search = { action: 'aoss:ReadDocument', resource: 'index/c/history' }

test('a call without a grant is reported, by action and resource', () => {
  const names = namesWith(['dynamodb:UpdateItem', 'dynamodb:Query'])
  expect(missingGrants(names, grantsOf(names, ROLE), [update, search])).toStrictEqual([])
  expect(missingGrants(names, grantsOf(names, ROLE), [update, query, search])).toStrictEqual([
    'dynamodb:Query on Log/index/by_due',
  ])
  const less = namesWith(['dynamodb:Query'])
  expect(missingGrants(less, grantsOf(less, ROLE), [update])).toStrictEqual(['dynamodb:UpdateItem on Log'])
})

test('a grant without a call is reported, including grants of data access policies', () => {
  const names = namesWith(['dynamodb:UpdateItem', 'dynamodb:DeleteItem'])
  expect(unusedGrants(names, grantsOf(names, ROLE), [update])).toStrictEqual([
    'aoss:ReadDocument on index/c/history*',
    'dynamodb:DeleteItem on Log',
  ])
})

test('a policy that does more than allow actions on resources is refused', () => {
  const names = namesWith([])
  const policy = names.stacks.get('app')?.Resources['Policy']
  Object.assign(policy?.Properties ?? {}, {
    PolicyDocument: { Statement: [{ Effect: 'Deny', Action: '*', Resource: '*' }] },
  })
  expect(() => grantsOf(names, ROLE)).toThrow('Effect')
})
