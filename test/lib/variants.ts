import type { Environment } from '../../lib/environments.ts'
import { OWN_ENVIRONMENT } from '../../lib/own-environment.ts'
import { environmentOf } from './synthesise.ts'

const KEY = 'arn:aws:kms:eu-central-1:111122223333:key/1234abcd-12ab-34cd-56ef-1234567890ab'

/** Returns the variant with this name. */
export function variantOf(name: string): Environment {
  const found = VARIANTS.find((variant) => variant.name === name)
  if (found === undefined) throw new Error(`there is no variant ${name}`)
  return found
}

/** Environments for tests, with settings that no defined environment uses. */
export const VARIANTS: readonly Environment[] = [
  environmentOf(
    {
      model: 'bedrock/anthropic.claude-sonnet-5-5',
      search: { kind: 'domain', instance: 't3.small.search', nodes: 1 },
      encryptionKey: KEY,
      alarmEmail: 'oncall@example.com',
      corsOrigins: ['https://app.example.com'],
      retain: false,
    },
    'small',
  ),
  environmentOf(
    {
      account: '111122223333',
      region: 'eu-central-1',
      model: 'anthropic/claude-sonnet-5-5',
      search: { kind: 'serverless', maxCapacity: 32 },
      encryptionKey: KEY,
      bucketAccessLogs: true,
      sessionDays: 90,
      firewall: { requestsPerAddress: 1_000 },
      customDomain: {
        name: 'agents.example.com',
        certificate: 'arn:aws:acm:eu-central-1:111122223333:certificate/1234abcd-12ab-34cd-56ef-1234567890ab',
        hostedZone: { id: 'Z0123456789ABCDEFGHIJ', name: 'example.com' },
      },
      operators: ['arn:aws:iam::111122223333:role/operators'],
    },
    'full',
  ),
  environmentOf(OWN_ENVIRONMENT, 'mine'),
  environmentOf(
    {
      model: 'demo/demo',
      search: { kind: 'serverless' },
      vpcEndpoints: ['vpce-0123456789abcdef0'],
      firewall: { requestsPerAddress: 1_000 },
      canary: 'off',
      retain: false,
    },
    'inner',
  ),
]
