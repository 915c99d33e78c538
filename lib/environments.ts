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

/** The settings of an environment are unusable. The message names each wrong setting. */
export class EnvironmentError extends Error {
  override readonly name = 'EnvironmentError'
}

const whole = z.int().positive()
/**
 * Values that AWS allows:
 * https://docs.aws.amazon.com/AmazonCloudWatchLogs/latest/APIReference/API_PutRetentionPolicy.html
 */
const LOG_DAYS = [
  1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731, 1096, 1827, 2192, 2557, 2922, 3288, 3653,
]
/** Limits that AWS WAF accepts: https://docs.aws.amazon.com/waf/latest/APIReference/API_RateBasedStatement.html */
const rateLimit = z.int().min(10).max(2_000_000_000)

/**
 * Maximum length, in characters, of `corsOrigins` and `allowedHosts` together. Both are stored in a function's
 * environment, which AWS limits to 4 KB. Half of the 4 KB is for tenants' budgets.
 */
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
    /** Model of agents without `model`. `bedrock/…` needs no key; keys of other providers are stored in the secret. */
    model: z.string().regex(/^[a-z0-9-]+\/.+$/, 'is not of the form provider/model'),
    /** Path of the agents' file. Default: `agents.json` if it exists, otherwise only the built-in default agent. */
    agentsFile: z.string().min(1).optional(),
    /** Path of a TypeScript module that exports `tools`: your own tools, deployed with the functions. */
    toolsFile: z.string().min(1).optional(),
    /** Days without activity after which a session is deleted. Applies to agents that do not set `ttl_days`. */
    sessionDays: whole.optional(),
    search: searchKinds,
    logLevel: z.enum(['debug', 'info', 'warn', 'error', 'silent']).default('info'),
    /** Days for which logs are kept: a number that CloudWatch Logs accepts. */
    logDays: z.literal(LOG_DAYS).default(30),
    /** Keeps data and the functions' logs when the stacks are deleted, and protects the table against deletion. */
    retain: z.boolean().default(true),
    /** Continuous backups of the table for 35 days. */
    pointInTimeRecovery: z.boolean().default(true),
    /** A table that was restored from a backup. It replaces the stack's own table: docs/operations/restore.md. */
    restoredTable: restoredTable.optional(),
    /** A bucket that another deployment left behind. It replaces the stack's own bucket: docs/operations/restore.md. */
    restoredBucket: z
      .string()
      .regex(/^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/, 'is not the name of a bucket')
      .optional(),
    /** Logs each request to the bucket in a second bucket. */
    bucketAccessLogs: z.boolean().default(false),
    /** Address to which alarms are sent. AWS asks its owner for a confirmation. Required with `retain`. */
    alarmEmail: z.email('is not an email address').optional(),
    /** Tags, in addition to `tooltrail:environment`, of every resource that can have tags. */
    tags: tags.default({}),
    /** Monthly limit in US dollars. An email is sent at 80 % of the limit, or if the costs are forecast to exceed it. */
    monthlyBudget: whole.optional(),
    /** Maximum number of runs that the queue's workers execute concurrently. It also limits the bill for models. */
    maxWorkers: z.int().min(2).max(1_000).default(20),
    /**
     * Maximum number of requests that the API handles concurrently, including streams and waiting calls. This number of
     * the account's executions is reserved for the API. As with `reserveConcurrency`, AWS does not allow reserving the
     * last 100 executions of the account. Default: no limit.
     */
    maxRequests: whole.optional(),
    /**
     * Reserves Lambda executions for the indexer and the sweeper, so that the API and the workers cannot use them up.
     * The account's limit of concurrent executions must exceed `indexerConcurrency` by at least 102. AWS does not allow
     * reserving the last 100, and new accounts begin with a limit of 10.
     */
    reserveConcurrency: z.boolean().default(false),
    /** Executions reserved for the indexer if `reserveConcurrency` is set: one per shard of the table's stream. */
    indexerConcurrency: z.int().min(2).max(1_000).default(20),
    /** Initial throughput per second. Default: 12,000 reads and 4,000 writes. AWS charges once for higher values. */
    warmThroughput: z.strictObject({ reads: z.int().min(12_000), writes: z.int().min(4_000) }).optional(),
    /**
     * A new version of the functions gets `percent` of the work for the first `minutes`, and then all work. An alarm
     * during this time rolls the version back. `off`: a new version gets all work at once; `-c canary=off` has this
     * effect for one deployment. Default: no versions; the functions are replaced.
     */
    canary: z
      .union(
        [z.literal('off'), z.strictObject({ percent: z.int().min(1).max(99), minutes: z.int().min(1).max(2_880) })],
        { error: "is neither 'off' nor { percent: 1 to 99, minutes: 1 to 2880 }" },
      )
      .optional(),
    /**
     * Number of API processes that are started in advance, so that requests need not wait for a start. Each costs about
     * $9 a month. As with `reserveConcurrency`, AWS does not allow reserving the last 100 executions of the account.
     */
    provisionedConcurrency: whole.optional(),
    /**
     * Destination of the runs' spans: an address that accepts OTLP over HTTP, without `/v1/traces`. Headers for
     * this address, such as a key, are stored in the models' secret as `OTEL_EXPORTER_OTLP_HEADERS`.
     */
    traceEndpoint: traceEndpoint.optional(),
    /** `host` or `host:port` of MCP servers and callback receivers that may be internal or use plain HTTP. */
    allowedHosts: z.array(allowedHost).default([]),
    /** Whether X-Ray receives the times of requests and invocations. */
    xray: z.boolean().default(false),
    /** Limits of paths that need a key (`/v1`, `/openai`, `/mcp`): requests per second, and the maximum burst. */
    throttle: z.strictObject({ rate: whole, burst: whole }).default({ rate: 50, burst: 100 }),
    /** Limits of all other paths, such as the page, webhooks and Slack. Requests to paths that need a key do not count here. */
    openThrottle: z.strictObject({ rate: whole, burst: whole }).default({ rate: 25, burst: 50 }),
    /**
     * `own`: each deployment creates a role with which API Gateway writes logs, and sets it for the whole account and
     * region. `shared`: another stack has set the role, and this environment changes nothing in the account.
     */
    apiGatewayLogs: z.enum(['own', 'shared']).default('own'),
    keyCaps,
    tenantBudget,
    /** A firewall. It limits the requests in 5 minutes, and blocks known bad addresses. Costs about $8 a month. */
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
    /** Ids of VPC endpoints for `execute-api`: the only way to the API. Default: it is reachable from everywhere. */
    vpcEndpoints: z
      .array(z.string().regex(/^vpce-[0-9a-f]{8,17}$/, 'is not the id of a VPC endpoint'))
      .min(1)
      .optional(),
    /**
     * ARN of the key that encrypts table, bucket, queues, secret and index. Default: keys that AWS manages, without
     * cost. The setting cannot change after the first deployment, because a domain or a collection keeps its key for
     * ever. `npm run deploy` therefore rejects a change.
     */
    encryptionKey: arn('kms')
      .regex(/:key\/[^/]+$/, 'is not the ARN of a key: rights cannot name an alias')
      .optional(),
    /** Subnets of the functions. They limit the addresses that functions reach: docs/operations/deploy.md. */
    vpc: network.optional(),
    /** ARN of a managed policy that limits the rights of every role of the stacks. */
    permissionsBoundary: arn('iam')
      .regex(/:policy\/.+$/, 'is not the ARN of a policy')
      .optional(),
    /** Addresses and ranges (CIDR) that may call the API, including its paths without a key. Default: all. */
    allowedAddresses: z.array(addressRange).min(1).optional(),
    /**
     * Roles of people and pipelines that may rebuild, redrive and count the index of a serverless collection. `-c
     * operator=<role ARN>` adds one role. Repeat the option at each deployment; otherwise, the role loses the right.
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
 * The environments that `-c env=…` may name. Add your own environments; `lib/own-environment.ts` is a template. The
 * name of an environment separates its resources from those of other environments, even in the same account.
 */
const ENVIRONMENTS: { readonly [name: string]: EnvironmentSettings } = {
  /** Costs almost nothing while it is not used. Its data are deleted together with its stacks. */
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
    // A key may send 20 requests per second, which are 6,000 in five minutes. The limit per address must not be lower,
    // because a program may use one key from one address.
    firewall: { requestsPerAddress: 6_000, requestsPerKey: 12_000 },
    maxWorkers: 200,
    reserveConcurrency: true,
    canary: { percent: 10, minutes: 10 },
  },
}

/** Limits of AWS: the name of a collection has at most 28 characters, and the name of a policy at most 32. */
const NAME = /^[a-z][a-z0-9-]{0,11}$/

/** Settings that `-c` overrides for one deployment. */
export interface Given {
  readonly alarmEmail?: unknown
  /** Allowed only if the environment has versions. */
  readonly canary?: unknown
  /** ARN of a role, such as the deployer's, that becomes an operator in addition to the setting `operators`. */
  readonly operator?: unknown
}

/** Returns the settings of the environment `name`. Throws `EnvironmentError`, which names each wrong setting. */
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
