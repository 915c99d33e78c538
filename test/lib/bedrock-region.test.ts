/* Evidence, cloud: A wrong setting of an environment stops synthesis with a line that names it. */
import { describe, expect, test } from 'vitest'
import { checkBedrockRegion } from '../../lib/bedrock-region.ts'
import { EnvironmentError } from '../../lib/environments.ts'
import { environmentOf, synthesise } from './synthesise.ts'

const NAME = 'anthropic.claude-sonnet-5-5'

describe('a Bedrock model', () => {
  test.each([
    ['us', 'us-east-1'],
    ['us', 'ca-central-1'],
    ['eu', 'eu-central-1'],
    ['apac', 'ap-south-1'],
    ['jp', 'ap-northeast-1'],
    ['au', 'ap-southeast-2'],
    ['us-gov', 'us-gov-west-1'],
    ['global', 'sa-east-1'],
  ])('of the profile %s can be called from %s', (profile, region) =>
    expect(() => checkBedrockRegion(`${profile}.${NAME}`, region)).not.toThrow(),
  )

  test.each([
    ['us', 'eu-central-1'],
    ['eu', 'us-east-1'],
    ['apac', 'eu-west-1'],
    ['jp', 'ap-south-1'],
    ['us', 'us-gov-west-1', 'us-gov'],
    ['global', 'us-gov-west-1', 'us-gov'],
    ['us-gov', 'us-east-1'],
  ])('of the profile %s is refused in %s, with a suggestion that works', (profile, region, other = 'global') =>
    expect(() => checkBedrockRegion(`${profile}.${NAME}`, region)).toThrow(
      new EnvironmentError(
        `model: bedrock/${profile}.${NAME} is an inference profile that cannot be called from ${region}. ` +
          `Choose one that can, such as bedrock/${other}.${NAME}, or another region`,
      ),
    ),
  )

  test('with an ARN is refused in any region other than the region of the ARN', () => {
    const arn = 'arn:aws:bedrock:eu-central-1:111122223333:application-inference-profile/a1b2c3'
    expect(() => checkBedrockRegion(arn, 'eu-central-1')).not.toThrow()
    expect(() => checkBedrockRegion(arn, 'us-east-1')).toThrow(
      new EnvironmentError(`model: bedrock/${arn} is in eu-central-1, and cannot be called from us-east-1`),
    )
  })

  test.each([NAME, 'amazon.nova-pro-v1:0', 'meta.llama4'])('%s without a profile is not checked', (model) =>
    expect(() => checkBedrockRegion(model, 'eu-central-1')).not.toThrow(),
  )

  test('is checked when the stacks are built, because the region is known then', () => {
    const settings = { model: `bedrock/us.${NAME}`, search: { kind: 'serverless' } } as const
    expect(() => synthesise(environmentOf({ ...settings, region: 'eu-central-1' }))).toThrow(EnvironmentError)
    expect(() => synthesise(environmentOf(settings))).not.toThrow()
  })
})
