import type { EnvironmentSettings } from '../../../lib/environments.ts'

const KEYS = [1, 2].map((n) => `arn:aws:kms:us-east-1:111122223333:key/${n}`)
const STREAM = 'arn:aws:dynamodb:us-east-1:111122223333:table/restored/stream/2026-11-22T05:00:00.000'
const domainName = (name: string) => ({
  name,
  certificate: 'arn:aws:acm:us-east-1:111122223333:certificate/1',
  hostedZone: { id: 'Z0123456789ABCDEFGHIJ', name: 'example.com' },
})

type Changes = { readonly [Setting in keyof EnvironmentSettings]-?: readonly EnvironmentSettings[Setting][] }

/**
 * Values of each setting. The test changes a setting from no value through all of its values and back to no value. For a
 * setting without values, a comment gives the reason.
 */
export const CHANGES: Changes = {
  account: [], // a change of the account creates another environment
  region: [], // a change of the region creates another environment
  model: ['bedrock/us.anthropic.claude-sonnet-5-5', 'openai/gpt-5.6'],
  agentsFile: ['test/lib/sample-agents.json'],
  toolsFile: ['test/lib/sample-tools.ts'],
  sessionDays: [30, 90],
  search: [
    { kind: 'serverless', maxCapacity: 8 },
    { kind: 'domain', instance: 'r7g.large.search', nodes: 3, standby: true },
    { kind: 'domain', instance: 'm7g.large.search', nodes: 2, volume: 40 },
    { kind: 'serverless', maxCapacity: 16 },
  ],
  logLevel: ['debug', 'error'],
  logDays: [7, 90],
  retain: [false],
  pointInTimeRecovery: [false],
  restoredTable: [{ name: 'restored', stream: STREAM }],
  restoredBucket: ['kept-outputs', 'other-outputs'],
  bucketAccessLogs: [true],
  alarmEmail: ['one@example.com', 'two@example.com'],
  tags: [{ team: 'blue' }, { team: 'red', cost: 'shared' }],
  monthlyBudget: [100, 200],
  maxWorkers: [5, 50],
  maxRequests: [100, 200],
  reserveConcurrency: [true],
  indexerConcurrency: [30],
  warmThroughput: [{ reads: 12_000, writes: 8_000 }],
  canary: ['off', { percent: 10, minutes: 10 }, { percent: 20, minutes: 5 }],
  provisionedConcurrency: [1, 2],
  traceEndpoint: ['https://otlp.example.com', 'https://traces.example.com'],
  allowedHosts: [['tools.example.com:8080']],
  xray: [true],
  throttle: [{ rate: 100, burst: 200 }],
  openThrottle: [{ rate: 10, burst: 20 }],
  apiGatewayLogs: ['shared', 'own'],
  keyCaps: [{ requestsPerSecond: 5 }],
  tenantBudget: [{ dollarsPerDay: 5 }],
  firewall: [{ requestsPerAddress: 100 }, { requestsPerAddress: 200, requestsPerKey: 300 }],
  corsOrigins: [['https://app.example.com']],
  customDomain: [domainName('agents.example.com'), domainName('assistants.example.com')],
  vpcEndpoints: [['vpce-0123456789abcdef0'], ['vpce-0123456789abcdef1']],
  encryptionKey: KEYS,
  vpc: [
    { subnets: ['subnet-0123456789abcdef0'], securityGroups: ['sg-0123456789abcdef0'] },
    {
      subnets: ['subnet-0123456789abcdef1'],
      securityGroups: ['sg-0123456789abcdef1'],
      collectionEndpoint: 'vpce-0123456789abcdef0',
    },
  ],
  permissionsBoundary: [1, 2].map((n) => `arn:aws:iam::111122223333:policy/boundary${n}`),
  allowedAddresses: [['203.0.113.0/24'], ['198.51.100.7']],
  operators: [['arn:aws:iam::111122223333:role/one'], ['arn:aws:iam::111122223333:role/two']],
}
