import type { EnvironmentSettings } from './environments.ts'

/**
 * A template for your own environment, with every setting. To use it:
 *
 * 1. Copy the object into `ENVIRONMENTS` in `lib/environments.ts`, under a name of up to 12 lower case letters, digits
 *    and dashes.
 * 2. Insert your own values, and remove the settings that you do not need: only `model` and `search` are required.
 *    `lib/environments.ts` explains each setting and its default.
 * 3. Check it with `npm run synth -- -c env=<name>`, and deploy it with `npm run deploy -- -c env=<name>`.
 *
 * Create these before the first deployment: the certificate and the hosted zone, the KMS key, and the roles of
 * operators.
 */
export const OWN_ENVIRONMENT = {
  // Location. If these two settings are missing, the account and region of the credentials apply.
  account: '111122223333',
  region: 'eu-central-1',

  // Model and code. `bedrock/…` needs no key; keys of other providers go into the secret after the first deployment.
  model: 'anthropic/claude-sonnet-5-5',
  agentsFile: 'test/lib/sample-agents.json', // your own `agents.json`
  toolsFile: 'test/lib/sample-tools.ts', // your own module: CONTRIBUTING.md, "Ship a tool of your own"
  sessionDays: 365,

  // The history index: a domain, or `{ kind: 'serverless' }`, which sleeps while it is unused.
  search: { kind: 'domain', instance: 'm7g.large.search', nodes: 2, volume: 20, standby: false },

  // Retention of data and logs.
  retain: true,
  pointInTimeRecovery: true,
  bucketAccessLogs: true,
  logLevel: 'info',
  logDays: 30,

  // Address for alarms.
  alarmEmail: 'oncall@example.com',

  tags: { team: 'assistants' },

  // Limits of costs and of the account's resources.
  monthlyBudget: 200,
  maxWorkers: 50,
  maxRequests: 300,
  reserveConcurrency: false,
  indexerConcurrency: 40,
  warmThroughput: { reads: 12_000, writes: 8_000 },

  // Deployment of new versions, and processes that are started in advance.
  canary: { percent: 10, minutes: 10 },
  provisionedConcurrency: 2,

  // Destination of traces, if there is one.
  traceEndpoint: 'https://otlp.example.com',
  xray: true,

  // MCP servers and callback receivers that may be internal or use plain HTTP, such as ['tools.example.com:8080'].
  allowedHosts: [],

  // Limits of requests.
  throttle: { rate: 100, burst: 200 },
  openThrottle: { rate: 50, burst: 100 },
  apiGatewayLogs: 'own', // `shared` means that another stack has set the account's role for API Gateway's logs
  keyCaps: { requestsPerSecond: 50, activeRuns: 100, openCalls: 200, tokensPerDay: 50_000_000 },
  tenantBudget: { dollarsPerDay: 200 },
  firewall: { requestsPerAddress: 15_000, requestsPerKey: 15_000 }, // a key's 50 requests per second, for five minutes
  corsOrigins: ['https://app.example.com'],
  customDomain: {
    name: 'agents.example.com',
    certificate: 'arn:aws:acm:eu-central-1:111122223333:certificate/1234abcd-12ab-34cd-56ef-1234567890ab',
    hostedZone: { id: 'Z0123456789ABCDEFGHIJ', name: 'example.com' },
  },

  // Ids of VPC endpoints, such as ['vpce-0123456789abcdef0']. If set, the API can be reached only through them. They cannot
  // be combined with a custom domain.
  vpcEndpoints: undefined,

  // Your own key, and the roles that may operate a serverless collection.
  encryptionKey: 'arn:aws:kms:eu-central-1:111122223333:key/1234abcd-12ab-34cd-56ef-1234567890ab',
  operators: ['arn:aws:iam::111122223333:role/operators'],

  // Settings that a company's rules may require: a network, a boundary for all roles, and addresses that may call the
  // API.
  vpc: { subnets: ['subnet-0123456789abcdef0', 'subnet-0123456789abcdef1'], securityGroups: ['sg-0123456789abcdef0'] },
  permissionsBoundary: 'arn:aws:iam::111122223333:policy/boundary',
  allowedAddresses: ['203.0.113.0/24', '2001:db8::/32'],

  // Needed only after a restore, or to use the bucket of a deleted environment: docs/operations/restore.md.
  restoredTable: {
    name: 'tooltrail-restored',
    stream: 'arn:aws:dynamodb:eu-central-1:111122223333:table/tooltrail-restored/stream/2026-11-22T05:00:00.000',
  },
  restoredBucket: 'tooltrail-kept-outputs',
} satisfies Required<EnvironmentSettings>
