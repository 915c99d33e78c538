import { expect, test } from 'vitest'
import { withoutAliases } from './aliases.ts'

const alias = { Type: 'AWS::Lambda::Alias', Properties: { FunctionName: { Ref: 'Fn' }, Name: 'live' } }
const nameOf = (arn: object) => ({ 'Fn::Select': [6, { 'Fn::Split': [':', arn] }] })

test('in a template, a function replaces its alias, by ARN and by name', () => {
  const arn = { 'Fn::GetAtt': ['Fn', 'Arn'] }
  const byName = (of: object, suffix: string) => ({ FunctionName: { 'Fn::Join': ['', [nameOf(of), suffix]] } })
  const fn = { Type: 'AWS::Lambda::Function', Properties: {} }
  const calling = (of: object, suffix: string) => ({
    Rule: { Type: 'AWS::Events::Rule', Properties: { Targets: [{ Arn: of }] } },
    Mapping: { Type: 'AWS::Lambda::EventSourceMapping', Properties: byName(of, suffix) },
  })
  expect(withoutAliases({ Resources: { Fn: fn, Live: alias, ...calling({ Ref: 'Live' }, ':live') } })).toEqual({
    Resources: { Fn: fn, ...calling(arn, '') },
  })
})
