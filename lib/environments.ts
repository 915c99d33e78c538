import { z } from 'zod'
import { faultText, reasonOf, settingText } from '../functions/runtime/settings/setting-text.ts'
import { keyCaps, tenantBudget } from './cap-settings.ts'
import {
  addressRange,
  allowedHost,
  arn,
  network,
  origin,
  restoredTable,
  tags,
  traceEndpoint,
  searchKinds,
} from './setting-formats.ts'

/** An environment has unusable settings. The message names each wrong one. */
export class EnvironmentError extends Error {
  override readonly name = 'EnvironmentError'
}

const whole = z.int().positive()
/** Values of https://docs.aws.amazon.com/AmazonCloudWatchLogs/latest/APIReference/API_PutRetentionPolicy.html */
const LOG_DAYS = [
  1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731, 1096, 1827, 2192, 2557, 2922, 3288, 3653,
]
/** Values that AWS WAF accepts: https://docs.aws.amazon.com/waf/latest/APIReference/API_RateBasedStatement.html */
const rateLimit = z.int().min(10).max(2_000_000_000)

/** Maximum characters of lists in a function's environment of 4 KB, half of which is for tenants' budgets. */
const MAX_LIST_CHARACTERS = 1_000

const settings = z
  .strictObject({
    /** Default: the account and region of the credentials. */
    account: z
      .string()
      .regex(/^\d{12}$/, 'is not an account number of 12 digits')
      .optional(),
    region: z
      .string()
      .regex(/^[a-z]{2}(-[a-z]+)+-\d$/, 'is not a region, such as eu-central-1')
      .optional(),
    /** Model of agents that name none. `bedrock/…` needs no key; keys of other providers go into the secret. */
    model: z.string().regex(/^[a-z0-9-]+\/.+$/, 'is not of the form provider/model'),
    /** Path of the agents' file. Default: `agents.json` if it exists, otherwise only the built-in default agent. */
    agentsFile: z.string().min(1).optional(),
    /** Path of a TypeScript module that exports `tools`: your own tools, deployed with the functions. */
    toolsFile: z.string().min(1).optional(),
    /** Days without activity after which a session is deleted, for agents that do not set `ttl_days`. */
    sessionDays: whole.optional(),
    search: searchKinds,
    logLevel: z.enum(['debug', 'info', 'warn', 'error', 'silent']).default('info'),
    /** Days for which logs are kept: a number that CloudWatch Logs accepts. */
    logDays: z.literal(LOG_DAYS).default(30),
    /** Keeps data and the functions' logs when the stacks are deleted, and protects the table against deletion. */
    retain: z.boolean().default(true),
    /** Continuous backups of the table for 35 days. */
    pointInTimeRecovery: z.boolean().default(true),
    /** A table that was restored from a backup and replaces the stack's own: docs/operations/restore.md. */
    restoredTable: restoredTable.optional(),
    /** A bucket of outputs that another deployment has kept, instead of the stack's own: docs/operations/restore.md. */
    restoredBucket: z
      .string()
      .regex(/^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/, 'is not the name of a bucket')
      .optional(),
    /** Logs each request to the bucket in a second bucket. */
    bucketAccessLogs: z.boolean().default(false),
    /** Address for alarms. AWS asks the address to confirm. Required with `retain`. */
    alarmEmail: z.email('is not an email address').optional(),
    /** Tags of every resource that can have some, in addition to `tooltrail:environment`. */
    tags: tags.default({}),
    /** Dollars a month. An email is sent when the account reaches 80 % of them, or will exceed them. */
    monthlyBudget: whole.optional(),
    /** Maximum number of runs that the queue's workers execute concurrently. It also limits the bill for models. */
    maxWorkers: z.int().min(2).max(1_000).default(20),
    /**
     * Maximum number of requests that the API handles concurrently, including streams and waiting calls. These
     * executions of the account are reserved for it. As with `reserveConcurrency`, AWS keeps the last 100 of the
     * account unreserved. Default: no limit.
     */
    maxRequests: whole.optional(),
    /**
     * Reserves Lambda executions for the indexer and the sweeper, whatever the API and the workers use. The account's
     * limit of concurrent executions must be at least 102 higher than `indexerConcurrency`. AWS refuses to reserve the
     * last 100, and new accounts begin with 10.
     */
    reserveConcurrency: z.boolean().default(false),
    /** Executions reserved for the indexer, with `reserveConcurrency`: one per shard of the table's stream. */
    indexerConcurrency: z.int().min(2).max(1_000).default(20),
    /** Initial throughput per second. The default is 12,000 reads and 4,000 writes; more has a one-time price. */
    warmThroughput: z.strictObject({ reads: z.int().min(12_000), writes: z.int().min(4_000) }).optional(),
    /**
     * A new version of the functions gets this percentage of the work for these minutes, and then all of it. Alarms
     * roll it back. `off`: all at once, also for one deployment with `-c canary=off`. Default: no versions; the
     * functions are replaced.
     */
    canary: z
      .union(
        [z.literal('off'), z.strictObject({ percent: z.int().min(1).max(99), minutes: z.int().min(1).max(2_880) })],
        { error: "is neither 'off' nor { percent: 1 to 99, minutes: 1 to 2880 }" },
      )
      .optional(),
    /**
     * Processes of the API that are started in advance, so that requests need not wait for a start. Each costs about $9
     * a month. As with `reserveConcurrency`, AWS keeps the last 100 executions of the account unreserved.
     */
    provisionedConcurrency: whole.optional(),
    /**
     * Destination of the runs' spans: an address that accepts OTLP over HTTP, without `/v1/traces`. Headers, such as a
     * key, are in the models' secret as `OTEL_EXPORTER_OTLP_HEADERS`.
     */
    traceEndpoint: traceEndpoint.optional(),
    /** `host` or `host:port` of MCP servers and receivers of callbacks that may have internal addresses and plain HTTP. */
    allowedHosts: z.array(allowedHost).default([]),
    /** Whether X-Ray receives the times of requests and invocations. */
    xray: z.boolean().default(false),
    /** Requests per second to paths that need a key (`/v1`, `/openai`, `/mcp`), and the maximum burst. */
    throttle: z.strictObject({ rate: whole, burst: whole }).default({ rate: 50, burst: 100 }),
    /** Limits of all other paths, such as the page, webhooks and Slack. Requests with a key do not count here. */
    openThrottle: z.strictObject({ rate: whole, burst: whole }).default({ rate: 25, burst: 50 }),
    /**
     * The role with which API Gateway writes logs belongs to the account and region. `own`: each deployment creates a
     * role and sets it for all APIs there. `shared`: another stack has set one, and this environment changes nothing in
     * the account.
     */
    apiGatewayLogs: z.enum(['own', 'shared']).default('own'),
    keyCaps,
    tenantBudget,
    /** Limits of requests in 5 minutes. It also blocks known bad addresses. Costs about $8 a month. */
    firewall: z.strictObject({ requestsPerAddress: rateLimit, requestsPerKey: rateLimit.optional() }).optional(),
    /** Origins of web pages that may call the API; `*` for any. */
    corsOrigins: z.array(origin).default([]),
    customDomain: z
      .strictObject({
        name: z.hostname('is not a host name'),
        certificate: arn('acm'),
        /** Default: you create the DNS record of the name yourself. */
        hostedZone: z.strictObject({ id: z.string().min(1), name: z.hostname('is not a host name') }).optional(),
      })
      .refine(({ name, hostedZone }) => hostedZone === undefined || `.${name}`.endsWith(`.${hostedZone.name}`), {
        path: ['hostedZone', 'name'],
        message: 'is not a zone that contains the name',
      })
      .optional(),
    /** VPC endpoints for `execute-api` that are the only way to the API. Default: it is reachable from everywhere. */
    vpcEndpoints: z
      .array(z.string().regex(/^vpce-[0-9a-f]{8,17}$/, 'is not the id of a VPC endpoint'))
      .min(1)
      .optional(),
    /**
     * Key that encrypts table, bucket, queues, secret and index. Default: keys that AWS manages, without cost. It
     * cannot change after the first deployment, because AWS encrypts a domain or a collection permanently with one key.
     * `npm run deploy` therefore rejects another one.
     */
    encryptionKey: arn('kms')
      .regex(/:key\/[^/]+$/, 'is not the ARN of a key: rights cannot name an alias')
      .optional(),
    /** Subnets of the functions, which then reach only what the subnets reach: docs/operations/deploy.md. */
    vpc: network.optional(),
    /** ARN of a managed policy that limits every role of the stacks. */
    permissionsBoundary: arn('iam')
      .regex(/:policy\/.+$/, 'is not the ARN of a policy')
      .optional(),
    /** Addresses and ranges (CIDR) that may call the API, including its paths without a key. Default: all. */
    allowedAddresses: z.array(addressRange).min(1).optional(),
    /**
     * Roles of people and pipelines that may rebuild, redrive and count the index of a serverless collection. `-c
     * operator=<role ARN>` adds one, as long as it is given at each deployment.
     */
    operators: z.array(arn('iam')).default([]),
  })
  .refine(
    (value) => value.search.kind !== 'domain' || !value.search.standby || !value.search.instance.startsWith('t3'),
    {
      path: ['search', 'standby'],
      message: 'is not possible with t3 instances',
    },
  )
  .refine((value) => value.search.kind !== 'domain' || !value.search.standby || value.search.nodes % 3 === 0, {
    path: ['search', 'nodes'],
    message: 'must be a multiple of 3 with standby',
  })
  .refine(({ maxRequests: most, provisionedConcurrency: warm = 0 }) => most === undefined || warm <= most, {
    path: ['provisionedConcurrency'],
    message: 'is more than maxRequests',
  })
  .refine(
    ({ corsOrigins, allowedHosts }) => [...corsOrigins, ...allowedHosts].join(',').length <= MAX_LIST_CHARACTERS,
    {
      path: ['corsOrigins'],
      message: `must be at most ${MAX_LIST_CHARACTERS} characters, together with allowedHosts`,
    },
  )
  .refine(({ retain, alarmEmail }) => !retain || alarmEmail !== undefined, {
    path: ['alarmEmail'],
    message: 'is needed where data is kept (retain). Set it here, or deploy with -c alarmEmail=you@example.com',
  })
  .refine(({ vpcEndpoints, customDomain }) => vpcEndpoints === undefined || customDomain === undefined, {
    path: ['customDomain'],
    message: 'is not possible with vpcEndpoints: a public name cannot lead to a private API',
  })
  .refine(({ monthlyBudget, alarmEmail }) => monthlyBudget === undefined || alarmEmail !== undefined, {
    path: ['monthlyBudget'],
    message: 'needs an alarmEmail to write to',
  })

export type EnvironmentSettings = z.input<typeof settings>

export type Environment = z.output<typeof settings> & {
  /** The prefix of all resource names, after `tooltrail-`. */
  readonly name: string
}

/**
 * The environments that `-c env=…` may name. Add your own, with `lib/own-environment.ts` as a template. The name
 * separates its resources from those of other environments, even in the same account.
 */
const ENVIRONMENTS: { readonly [name: string]: EnvironmentSettings } = {
  /** Costs almost nothing while it is unused, and keeps nothing when it is deleted. */
  dev: {
    model: 'demo/demo',
    search: { kind: 'serverless' },
    logLevel: 'debug',
    logDays: 7,
    retain: false,
    pointInTimeRecovery: false,
  },
  /** Like dev, with backups and a real model. */
  staging: {
    model: 'bedrock/us.anthropic.claude-sonnet-5-5',
    search: { kind: 'serverless' },
    logDays: 14,
    retain: false,
  },
  prod: {
    model: 'bedrock/us.anthropic.claude-sonnet-5-5',
    search: { kind: 'domain', instance: 'r7g.large.search', nodes: 3, volume: 50, standby: true },
    logDays: 90,
    bucketAccessLogs: true,
    throttle: { rate: 200, burst: 400 },
    openThrottle: { rate: 100, burst: 200 },
    // The keys' limit of 20 requests per second, for five minutes, because a program calls with one key from one
    // address.
    firewall: { requestsPerAddress: 6_000, requestsPerKey: 12_000 },
    maxWorkers: 200,
    reserveConcurrency: true,
    canary: { percent: 10, minutes: 10 },
  },
}

/** Names of collections have at most 28 characters, and names of their policies 32. */
const NAME = /^[a-z][a-z0-9-]{0,11}$/

/** Settings that `-c` may override at deployment. */
export interface Given {
  readonly alarmEmail?: unknown
  /** Only for an environment with versions. */
  readonly canary?: unknown
  /** ARN of a role, such as the deployer's, that is an operator in addition to those of the settings. */
  readonly operator?: unknown
}

/**
 * Returns the complete settings of the environment `name`. Throws `EnvironmentError`, which names each wrong setting.
 */
export function readEnvironment(name: unknown, given: Given = {}, environments = ENVIRONMENTS): Environment {
  const known = Object.keys(environments).join(', ')
  if (typeof name !== 'string' || name === '')
    throw new EnvironmentError(
      `name the environment: cdk deploy -c env=dev --all. There are ${known} (lib/environments.ts)`,
    )
  const chosen = Object.hasOwn(environments, name) ? environments[name] : undefined
  if (chosen === undefined)
    throw new EnvironmentError(
      `there is no environment ${JSON.stringify(name)}; there are ${known} (lib/environments.ts)`,
    )
  if (!NAME.test(name))
    throw new EnvironmentError(
      `${name}: the name of an environment has up to 12 lower case letters, digits and dashes, and begins with a letter`,
    )
  const { alarmEmail, canary, operator } = given
  const all = {
    ...chosen,
    ...(alarmEmail === undefined ? {} : { alarmEmail }),
    ...(canary === undefined || chosen.canary === undefined ? {} : { canary }),
    ...(operator === undefined ? {} : { operators: [...new Set([...(chosen.operators ?? []), operator])] }),
  }
  const parsed = settings.safeParse(all, { error: settingText })
  if (!parsed.success)
    throw new EnvironmentError(
      parsed.error.issues.map((issue) => faultText([name, ...issue.path], reasonOf(issue))).join('\n'),
    )
  return { name, ...parsed.data }
}

/** Returns the names of all environments. */
export const environmentNames = (): string[] => Object.keys(ENVIRONMENTS)
