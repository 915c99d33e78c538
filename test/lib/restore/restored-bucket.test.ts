import { expect, test } from 'vitest'
import { environmentOf, ofType, synthesise } from '../synthesise.ts'

const SETTINGS = { model: 'a/b', search: { kind: 'serverless' } } as const
const before = synthesise(environmentOf(SETTINGS))
const after = synthesise(environmentOf({ ...SETTINGS, restoredBucket: 'kept-outputs' }))
const bucketsOf = (made: typeof before) => ofType(made, 'AWS::S3::Bucket')

test('a retained bucket replaces the stack’s own bucket, which remains unchanged', () => {
  expect(bucketsOf(after)).toEqual(bucketsOf(before))
  expect(after.data.findOutputs('BucketName')['BucketName']?.['Value']).toBe('kept-outputs')
  const variables = ofType(after, 'AWS::Lambda::Function').map(
    ([, { Properties }]) => (Properties['Environment'] as { Variables: Record<string, unknown> }).Variables,
  )
  expect(variables.map(({ TOOLTRAIL_BUCKET }) => TOOLTRAIL_BUCKET)).toEqual(Array(4).fill('kept-outputs'))
})

test('functions may use the retained bucket, and no longer the stack’s own', () => {
  const rights = JSON.stringify(ofType(after, 'AWS::IAM::Policy'))
  expect(rights).toContain(':s3:::kept-outputs/*')
  expect(rights).not.toContain('OutputsBucket')
  expect(JSON.stringify(ofType(before, 'AWS::IAM::Policy'))).toContain('OutputsBucket')
})
