import { Duration } from 'aws-cdk-lib'
import { RecursiveLoop } from 'aws-cdk-lib/aws-lambda'
import type { RetentionDays } from 'aws-cdk-lib/aws-logs'
import type { Construct } from 'constructs'
import type {
  ApiVariables,
  BudgetVariables,
  IndexerVariables,
  StoreVariables,
  WorkerVariables,
} from '../../../functions/runtime/settings/config.ts'
import type { BundleOptions, Handler } from '../../bundle.ts'
import type { HistorySearch } from '../search/history-search.ts'
import type { LogTable } from '../log-table.ts'
import type { ModelAccess } from './model-access.ts'
import { NodeFunction, type Network } from './node-function.ts'
import type { OutputBucket } from '../output-bucket.ts'
import type { RunQueue } from '../run-queue.ts'
import { SWEEP_EVERY } from './sweeper.ts'

/** Maximum duration that Lambda allows for an invocation. */
export const LOOP_TIMEOUT = Duration.minutes(15)
/**
 * Duration of the last part of an invocation. In this part, a run is handed off as soon as its round ends. So a round
 * may take at most this time.
 */
const STOP_MARGIN = Duration.minutes(5)

/**
 * Number of concurrent executions that are reserved for a function. It is also the function's maximum. With two
 * executions, a sweep can begin while the previous one ends.
 */
const RESERVED = { sweeper: 2 }

/** The stores of the functions. */
export interface Stores {
  readonly table: LogTable
  readonly outputs: OutputBucket
  readonly search: HistorySearch
  readonly queue: RunQueue
  readonly models: ModelAccess
}

/** Limits of API keys without limits of their own. */
export interface KeyCaps {
  /** @default - no limit */
  readonly requestsPerSecond?: number | undefined
  /** @default - no limit */
  readonly activeRuns?: number | undefined
  /**
   * Concurrent streams and waiting calls.
   * @default - no limit
   */
  readonly openCalls?: number | undefined
  /**
   * Tokens per day (UTC).
   * @default - no limit
   */
  readonly tokensPerDay?: number | undefined
}

/** Daily limits of each tenant (UTC). */
export interface TenantBudget {
  /** @default - no limit */
  readonly tokensPerDay?: number | undefined
  /**
   * US dollars per day, at list prices.
   * @default - no limit
   */
  readonly dollarsPerDay?: number | undefined
  /**
   * Limits of single tenants that replace the general ones; null: no limit. All of them together must fit into the
   * environment of a function: 2,000 characters of JSON.
   * @default - none
   */
  readonly tenants?: Readonly<Record<string, OwnBudget>> | undefined
}
/** Daily limits of one tenant (UTC), which replace the general ones; null: no limit. */
export interface OwnBudget {
  /** @default - the general limit of tenants */
  readonly tokensPerDay?: number | null | undefined
  /**
   * US dollars per day, at list prices.
   * @default - the general limit of tenants
   */
  readonly dollarsPerDay?: number | null | undefined
}

export interface FunctionSettings {
  readonly environmentName: string
  readonly model: string
  readonly logLevel: string
  readonly logDays: RetentionDays
  /** Keeps the logs when the stack is deleted. */
  readonly retain: boolean
  /** Hosts of MCP servers and callback receivers for which internal addresses and plain HTTP are allowed. */
  readonly allowedHosts: readonly string[]
  readonly corsOrigins: readonly string[]
  readonly keyCaps: KeyCaps
  readonly tenantBudget: TenantBudget
  /** Number of concurrent executions that are reserved for the API. It is also the API's maximum. */
  readonly maxRequests: number | undefined
  readonly reserveConcurrency: boolean
  /** Number of concurrent executions that are reserved for the indexer. The stream has one reader per shard. */
  readonly indexerConcurrency: number
  /** Destination of the runs' spans. */
  readonly traceEndpoint: string | undefined
  readonly xray: boolean
  /** Subnets in which the functions run. */
  readonly vpc: Network | undefined
  readonly bundle: BundleOptions
}

export type BackendFunctions = Readonly<Record<Handler, NodeFunction>>

/** Creates the four functions. Each gets only the variables that it reads and the rights that it uses. */
export function createFunctions(scope: Construct, stores: Stores, settings: FunctionSettings): BackendFunctions {
  const { bundle, maxRequests, reserveConcurrency } = settings
  const common = { logDays: settings.logDays, retain: settings.retain, xray: settings.xray, vpc: settings.vpc }
  const variables = variablesOf(stores, settings)
  const functions = {
    api: new NodeFunction(scope, 'Api', {
      handler: 'api',
      description: 'Tooltrail: handles requests, and runs the loop for callers that wait or listen',
      ...(maxRequests === undefined ? {} : { reserved: maxRequests }),
      variables: variables.api,
      timeout: LOOP_TIMEOUT,
      memory: 1_024,
      ...common,
      bundle,
    }),
    worker: new NodeFunction(scope, 'Worker', {
      handler: 'worker',
      description: 'Tooltrail: runs the loop for hints from the queue',
      variables: variables.worker,
      timeout: LOOP_TIMEOUT,
      memory: 1_024,
      ...common,
      bundle,
      // A long run is handed off through the queue many times. The hint counts these hops, so Lambda's own loop
      // detection is not needed.
      recursiveLoop: RecursiveLoop.ALLOW,
    }),
    indexer: new NodeFunction(scope, 'Indexer', {
      handler: 'indexer',
      description: 'Tooltrail: keeps the history index up to date with the log',
      ...(reserveConcurrency ? { reserved: settings.indexerConcurrency } : {}),
      // Nearly all new objects soon become garbage. With this small space for them, indexing 100 MB of output needs no
      // more memory than indexing 1 MB (`test/history/bounded-memory.test.ts`).
      variables: { ...variables.indexer, NODE_OPTIONS: '--max-semi-space-size=8' },
      // This time is enough to index an output of some hundred MB in one invocation.
      timeout: Duration.minutes(10),
      memory: 512,
      ...common,
    }),
    sweeper: new NodeFunction(scope, 'Sweeper', {
      handler: 'sweeper',
      description: 'Tooltrail: finds what lost hints and dead workers left',
      ...(reserveConcurrency ? { reserved: RESERVED.sweeper } : {}),
      variables: variables.sweeper,
      timeout: Duration.minutes(2),
      memory: 512,
      ...common,
      // A failed sweep is not retried, because the next one finds the same work.
      asynchronous: { retryAttempts: 0, maxEventAge: SWEEP_EVERY },
    }),
  }
  grantRights(stores, functions)
  return functions
}

function variablesOf({ table, outputs, search, queue, models }: Stores, settings: FunctionSettings) {
  const { allowedHosts, corsOrigins } = settings
  // Variables of every function. The sweeper also gets the name of a second bucket, if there is one (`tooltrail.ts`).
  const store: StoreVariables = {
    TOOLTRAIL_ENVIRONMENT: settings.environmentName,
    TOOLTRAIL_TABLE: table.table.tableName,
    TOOLTRAIL_BUCKET: outputs.bucket.bucketName,
    TOOLTRAIL_QUEUE_URL: queue.queue.queueUrl,
    LOG_LEVEL: settings.logLevel,
  }
  const worker: WorkerVariables = {
    ...store,
    OPENSEARCH_ENDPOINT: search.endpoint,
    TOOLTRAIL_AGENTS: './agents.json',
    MODEL: settings.model,
    TOOLTRAIL_MODEL_SECRET: models.secret.secretName,
    TOOLTRAIL_STOP_MARGIN_SECONDS: String(STOP_MARGIN.toSeconds()),
    ...(allowedHosts.length === 0 ? {} : { TOOLTRAIL_ALLOWED_HOSTS: allowedHosts.join(',') }),
    ...(settings.traceEndpoint === undefined ? {} : { OTEL_EXPORTER_OTLP_ENDPOINT: settings.traceEndpoint }),
    ...budgetVariables(settings),
  }
  const api: ApiVariables = {
    ...worker,
    ...(corsOrigins.length === 0 ? {} : { TOOLTRAIL_CORS_ORIGINS: corsOrigins.join(',') }),
    ...keyVariables(settings),
  }
  const indexer: IndexerVariables = {
    ...store,
    OPENSEARCH_ENDPOINT: search.endpoint,
    ...(search.copies === undefined ? {} : { TOOLTRAIL_INDEX_COPIES: String(search.copies) }),
    TOOLTRAIL_POISON_URL: queue.indexDeadLetters.queueUrl,
  }
  return { api, worker, indexer, sweeper: store }
}

/** Returns the variables with the limits of keys, for the API. */
const keyVariables = ({ keyCaps }: FunctionSettings): Partial<ApiVariables> =>
  asText({
    TOOLTRAIL_KEY_RPS: keyCaps.requestsPerSecond,
    TOOLTRAIL_KEY_ACTIVE_RUNS: keyCaps.activeRuns,
    TOOLTRAIL_KEY_OPEN_CALLS: keyCaps.openCalls,
    TOOLTRAIL_KEY_TOKENS_PER_DAY: keyCaps.tokensPerDay,
  })

/**
 * Returns the variables with the limits of tenants, for every function that accepts runs. If a Slack input
 * first needs a response of Slack's API, the worker accepts the input's run.
 */
const budgetVariables = ({ tenantBudget }: FunctionSettings): BudgetVariables =>
  asText({
    TOOLTRAIL_TENANT_TOKENS_PER_DAY: tenantBudget.tokensPerDay,
    TOOLTRAIL_TENANT_USD_PER_DAY: tenantBudget.dollarsPerDay,
    TOOLTRAIL_TENANT_BUDGETS: tenantBudget.tenants && budgetsOf(tenantBudget.tenants),
  })

const asText = (values: Readonly<Record<string, number | string | undefined>>): Record<string, string> =>
  Object.fromEntries(
    Object.entries(values).flatMap(([name, value]) => (value === undefined ? [] : [[name, String(value)]])),
  )

/** Converts budgets to the form of the variable. */
const budgetsOf = (tenants: Readonly<Record<string, OwnBudget>>): string =>
  JSON.stringify(
    Object.fromEntries(
      Object.entries(tenants).map(([tenant, { tokensPerDay, dollarsPerDay }]) => [
        tenant,
        { tokens_per_day: tokensPerDay, usd_per_day: dollarsPerDay },
      ]),
    ),
  )

function grantRights({ table, outputs, search, queue, models }: Stores, functions: BackendFunctions): void {
  const { api, worker, indexer, sweeper } = functions
  for (const fn of Object.values(functions)) table.denyKeys(fn)
  for (const loop of [api, worker]) {
    table.grantRunLog(loop)
    table.grantListing(loop)
    outputs.grantOutputs(loop)
    outputs.grantRemoval(loop)
    queue.grantHints(loop)
    search.grantSearch(loop)
    models.grantModels(loop)
  }
  queue.grantWork(worker)

  table.grantExpiry(indexer)
  outputs.grantRead(indexer)
  search.grantIndexing(indexer)
  queue.grantDeadLetters(indexer)
  queue.grantHints(indexer)

  table.grantSweep(sweeper)
  outputs.grantRead(sweeper)
  outputs.grantRemoval(sweeper)
  queue.grantHints(sweeper)
}
