import { expect, test } from 'vitest'
import type { Template } from './assembly.ts'
import { resolve } from './intrinsics.ts'
import { nameResources } from './resource-names.ts'
import { REGION } from '../../../engines/region.ts'

const template = (parts: Partial<Template>): Template => ({
  Resources: {},
  Outputs: {},
  Parameters: {},
  Mappings: {},
  Conditions: {},
  ...parts,
})
const data = template({
  Resources: { Log: { Type: 'AWS::DynamoDB::Table', Properties: { TableName: 'log' } } },
  Outputs: { Arn: { Value: { 'Fn::GetAtt': ['Log', 'Arn'] }, Export: { Name: 'log-arn' } } },
})
const app = template({
  Resources: {
    Queue: { Type: 'AWS::SQS::Queue', Properties: { QueueName: { 'Fn::Sub': '${AWS::StackName}-runs' } } },
    Strange: { Type: 'AWS::Strange::Thing', Properties: {} },
  },
  Parameters: { Level: { Default: 'info' } },
  Mappings: { Sizes: { dev: { memory: 512 } } },
  Conditions: { IsDev: { 'Fn::Equals': [{ Ref: 'AWS::Region' }, REGION] } },
})
const names = nameResources(
  new Map([
    ['data', data],
    ['app', app],
  ]),
)
const TABLE = `arn:aws:dynamodb:${REGION}:000000000000:table/log`

test.each<[string, unknown, unknown]>([
  ['Ref of a queue is its address', { Ref: 'Queue' }, `https://sqs.${REGION}.amazonaws.com/000000000000/app-runs`],
  ['Ref of a parameter is its default', { Ref: 'Level' }, 'info'],
  ['GetAtt by a list or a text', { 'Fn::GetAtt': 'Queue.QueueName' }, 'app-runs'],
  ['Join', { 'Fn::Join': ['-', ['a', { Ref: 'Level' }, 3]] }, 'a-info-3'],
  [
    'Sub with variables of its own',
    { 'Fn::Sub': ['${x}/${Queue.QueueName}', { x: { Ref: 'Level' } }] },
    'info/app-runs',
  ],
  ['Select of Split', { 'Fn::Select': [1, { 'Fn::Split': ['-', 'a-b-c'] }] }, 'b'],
  ['FindInMap', { 'Fn::FindInMap': ['Sizes', 'dev', 'memory'] }, 512],
  ['If', { 'Fn::If': ['IsDev', 'yes', 'no'] }, 'yes'],
  ['NoValue leaves the key out', { a: 1, b: { Ref: 'AWS::NoValue' } }, { a: 1 }],
  ['an export of another stack', { 'Fn::ImportValue': 'log-arn' }, TABLE],
  ['an output of another stack', { 'Fn::GetStackOutput': { StackName: 'data', OutputName: 'Arn' } }, TABLE],
])('a CloudFormation function is resolved: %s', (_, value, expected) => {
  expect(resolve(names, 'app', value, 'Environment')).toStrictEqual(expected)
})

test.each<[string, unknown, string]>([
  ['an unknown function', { TABLE: { 'Fn::Cidr': [] } }, 'app.Environment.TABLE: Fn::Cidr is not known here'],
  ['an unknown resource', { TABLE: { Ref: 'Nothing' } }, 'app.Environment.TABLE.Ref: neither a resource nor'],
  ['an unknown attribute', { 'Fn::GetAtt': ['Queue', 'Colour'] }, 'app.Environment.Fn::GetAtt: Queue has no attribute'],
  ['a type without a name here', { Ref: 'Strange' }, 'app.Strange: AWS::Strange::Thing is not known here'],
])('%s is reported with its path', (_, value, message) => {
  expect(() => resolve(names, 'app', value, 'Environment')).toThrow(message)
})
