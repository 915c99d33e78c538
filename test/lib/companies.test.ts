import { describe, expect, test } from 'vitest'
import type { EnvironmentSettings } from '../../lib/environments.ts'
import { environmentOf, ofType, synthesise } from './synthesise.ts'

const SETTINGS = { model: 'a/b', search: { kind: 'serverless' } } as const
const made = (settings: Partial<EnvironmentSettings>) => synthesise(environmentOf({ ...SETTINGS, ...settings }))
const VPC = { subnets: ['subnet-0123456789abcdef0'], securityGroups: ['sg-0123456789abcdef0'] }

describe('a custom network', () => {
  test('contains all functions, with the permissions that Lambda checks', () => {
    const { resources } = made({ vpc: VPC })
    const functions = Object.values(resources).filter(({ Type }) => Type === 'AWS::Lambda::Function')
    expect(functions.map(({ Properties }) => Properties['VpcConfig'])).toEqual(
      Array(4).fill({ SubnetIds: VPC.subnets, SecurityGroupIds: VPC.securityGroups }),
    )
    const granted = JSON.stringify(resources).match(/ec2:CreateNetworkInterface/g)
    expect(granted).toHaveLength(4)
    expect(JSON.stringify(made({}).resources)).not.toContain('ec2:')
  })

  test('reaches a collection through its endpoint only', () => {
    const networkOf = (settings: Partial<EnvironmentSettings>): unknown =>
      ofType(made(settings), 'AWS::OpenSearchServerless::SecurityPolicy')
        .map(([, { Properties }]) => Properties)
        .filter(({ Type }) => Type === 'network')
        .map(({ Policy }) => (JSON.parse(String(Policy)) as object[])[0])[0]
    expect(networkOf({ vpc: VPC })).toMatchObject({ AllowFromPublic: true })
    expect(networkOf({ vpc: { ...VPC, collectionEndpoint: 'vpce-0123456789abcdef0' } })).toMatchObject({
      AllowFromPublic: false,
      SourceVPCEs: ['vpce-0123456789abcdef0'],
    })
  })
})

test('a permissions boundary bounds every role', () => {
  const permissionsBoundary = 'arn:aws:iam::111122223333:policy/boundary'
  const roles = ofType(made({ permissionsBoundary, canary: { percent: 10, minutes: 5 } }), 'AWS::IAM::Role')
  expect(roles.length).toBeGreaterThan(5)
  for (const [id, { Properties }] of roles) expect(Properties['PermissionsBoundary'], id).toBe(permissionsBoundary)
})

describe('addresses that may call the API', () => {
  const policyOf = (settings: Partial<EnvironmentSettings>): unknown =>
    ofType(made(settings), 'AWS::ApiGateway::RestApi')[0]?.[1].Properties['Policy']

  test('are in the policy of the API, also if the API is behind VPC endpoints', () => {
    const allowedAddresses = ['203.0.113.0/24']
    expect(policyOf({})).toBeUndefined()
    expect(policyOf({ allowedAddresses })).toMatchObject({
      Statement: [{ Effect: 'Allow', Condition: { IpAddress: { 'aws:SourceIp': allowedAddresses } } }],
    })
    const vpcEndpoints = ['vpce-0123456789abcdef0']
    expect(policyOf({ allowedAddresses, vpcEndpoints })).toMatchObject({
      Statement: [
        {
          Condition: {
            StringEquals: { 'aws:SourceVpce': vpcEndpoints },
            IpAddress: { 'aws:VpcSourceIp': allowedAddresses },
          },
        },
      ],
    })
  })

  test('take effect with a new deployment of the API', () => {
    const deploymentOf = (address: string) =>
      ofType(made({ allowedAddresses: [address] }), 'AWS::ApiGateway::Deployment').map(([id]) => id)
    expect(deploymentOf('203.0.113.1')).not.toEqual(deploymentOf('203.0.113.2'))
  })
})

test.each([
  [{ vpc: { subnets: [], securityGroups: ['sg-0123456789abcdef0'] } }, 'own.vpc.subnets: must not be empty'],
  [{ vpc: { subnets: ['one'], securityGroups: ['sg-0123456789abcdef0'] } }, 'own.vpc.subnets.0: is not the id of a'],
  [
    { permissionsBoundary: 'arn:aws:iam::111122223333:role/one' },
    'own.permissionsBoundary: is not the ARN of a policy',
  ],
  [{ allowedAddresses: ['example.com'] }, 'own.allowedAddresses.0: is not an address or a range'],
  [{ allowedAddresses: ['203.0.113.0/33'] }, 'own.allowedAddresses.0: is not an address or a range'],
])('the settings %j are refused with the name of the faulty setting', (settings, message) =>
  expect(() => environmentOf({ ...SETTINGS, ...settings })).toThrow(message),
)
