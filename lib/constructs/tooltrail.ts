import { Names } from 'aws-cdk-lib'
import type { IKey } from 'aws-cdk-lib/aws-kms'
import { EventSourceMapping } from 'aws-cdk-lib/aws-lambda'
import type { IFunction } from 'aws-cdk-lib/aws-lambda'
import { RetentionDays } from 'aws-cdk-lib/aws-logs'
import { Construct } from 'constructs'
import type { SweeperVariables } from '../../functions/runtime/settings/config.ts'
import type { Handler } from '../bundle.ts'
import { shipAgents } from '../shipped-agents.ts'
import {
  createFunctions,
  LOOP_TIMEOUT,
  type BackendFunctions,
  type FunctionSettings,
  type KeyCaps,
  type Stores,
  type TenantBudget,
} from './functions/backend-functions.ts'
import { createHistorySearch } from './search/create-history-search.ts'
import type { HistorySearch, SearchSettings } from './search/history-search.ts'
import { IndexerStream } from './functions/indexer.ts'
import { LogTable } from './log-table.ts'
import type { Network } from './functions/node-function.ts'
import { ModelAccess } from './functions/model-access.ts'
import { OutputBucket } from './output-bucket.ts'
import { PublicApi, type CustomDomain } from './public-api.ts'
import { Release, type Canary } from './functions/release.ts'
import { RunQueue } from './run-queue.ts'
import { SweepSchedule } from './functions/sweeper.ts'

export interface TooltrailProps {
  /**
   * Prefix of the names of resources: up to 22 lower case letters, digits and dashes, unique in the account and region.
   * @default - derived from the construct's path
   */
  readonly name?: string
  /**
   * Name of the environment in metrics and logs.
   * @default - the name
   */
  readonly environmentName?: string
  /**
   * `provider/model` of agents without `model`.
   * @default 'demo/demo', which is not a real model
   */
  readonly model?: string
  /**
   * Path of the agents' file.
   * @default - only the built-in default agent
   */
  readonly agentsFile?: string | undefined
  /**
   * Path of a TypeScript module that exports `tools`.
   * @default - only the built-in tools
   */
  readonly toolsFile?: string | undefined
  /**
   * Days without activity after which a session is deleted. Applies to agents that do not set `ttl_days`.
   * @default - never
   */
  readonly sessionDays?: number | undefined
  /**
   * The table of the log.
   * @default - a new table, which is kept when the stack is deleted
   */
  readonly table?: LogTable
  /**
   * The bucket of outputs.
   * @default - a new bucket, which is kept when the stack is deleted
   */
  readonly outputs?: OutputBucket
  /**
   * The history index, or the settings to create one.
   * @default - a serverless collection that scales to zero
   */
  readonly search?: HistorySearch | SearchSettings
  /** @default 'info' */
  readonly logLevel?: 'debug' | 'info' | 'warn' | 'error' | 'silent'
  /** @default RetentionDays.ONE_MONTH */
  readonly logDays?: RetentionDays
  /**
   * Maximum number of runs that workers execute concurrently.
   * @default 20
   */
  readonly maxWorkers?: number
  /**
   * Maximum number of requests that the API handles concurrently, including streams and waiting calls. This number of
   * executions is reserved for the API. AWS refuses this if the account's limit of concurrent executions is low.
   * @default - the limit of the account
   */
  readonly maxRequests?: number | undefined
  /**
   * Reserves executions for the indexer and the sweeper. AWS refuses this if the account's limit of concurrent
   * executions is low.
   * @default false
   */
  readonly reserveConcurrency?: boolean
  /**
   * Number of executions that are reserved for the indexer if `reserveConcurrency` is set.
   * @default 20
   */
  readonly indexerConcurrency?: number
  /**
   * First tries a new version of the functions on a part of the work, and rolls it back if it fails. `off`: a new
   * version gets all work at once.
   * @default - no versions: the functions are replaced
   */
  readonly canary?: Canary | undefined
  /**
   * Number of API processes that are started in advance, so that requests need not wait for a start. They cost money
   * even without requests.
   * @default - none
   */
  readonly provisionedConcurrency?: number | undefined
  /**
   * Destination of the runs' spans: an address that accepts OTLP over HTTP, without `/v1/traces`.
   * @default - none
   */
  readonly traceEndpoint?: string | undefined
  /**
   * `host` or `host:port` of MCP servers and callback receivers for which internal addresses and plain HTTP are
   * allowed.
   * @default - none
   */
  readonly allowedHosts?: readonly string[]
  /**
   * Whether X-Ray receives the times of requests and invocations.
   * @default false
   */
  readonly xray?: boolean
  /**
   * Limits of paths that need a key: requests per second, and the maximum burst.
   * @default - 50, and a burst of 100
   */
  readonly throttle?: { readonly rate: number; readonly burst: number }
  /**
   * Limits of paths that need no key: requests per second, and the maximum burst.
   * @default - 25, and a burst of 50
   */
  readonly openThrottle?: { readonly rate: number; readonly burst: number }
  /**
   * `own`: this stack sets the account's role for API Gateway's logs. `shared`: another stack has set this role. There
   * is one role per account and region.
   * @default 'own'
   */
  readonly apiGatewayLogs?: 'own' | 'shared'
  /** @default - no firewall before the API */
  readonly firewall?: { readonly requestsPerAddress: number; readonly requestsPerKey?: number | undefined } | undefined
  /**
   * Limits of API keys without limits of their own.
   * @default - 20 requests a second, 50 runs at a time, 100 streams and waiting calls at a time, 20 million tokens a
   * day (UTC)
   */
  readonly keyCaps?: KeyCaps
  /**
   * Daily limits of each tenant (UTC).
   * @default - no limit
   */
  readonly tenantBudget?: TenantBudget
  /**
   * Origins of web pages that may call the API.
   * @default - none
   */
  readonly corsOrigins?: readonly string[]
  /** @default - an address of API Gateway */
  readonly customDomain?: CustomDomain | undefined
  /**
   * Ids of VPC endpoints for `execute-api`. If set, the API can be reached only through them.
   * @default - the API is reachable from everywhere
   */
  readonly vpcEndpoints?: readonly string[] | undefined
  /**
   * Subnets of the functions.
   * @default - the functions are in no network of the account
   */
  readonly vpc?: Network | undefined
  /**
   * Addresses and ranges (CIDR) that may call the API.
   * @default - all
   */
  readonly allowedAddresses?: readonly string[] | undefined
  /**
   * Keeps data and logs when the stack is deleted. If false, the buckets must be emptied before the deletion.
   * @default true
   */
  readonly retain?: boolean
  /** @default - keys that AWS manages, without cost */
  readonly encryptionKey?: IKey | undefined
}

/** The whole backend: API, workers, indexer and sweeper. They use a table, a bucket, a queue and a search index. */
export class Tooltrail extends Construct {
  readonly name: string
  readonly environmentName: string
  readonly stores: Stores
  readonly functions: BackendFunctions
  readonly publicApi: PublicApi
  readonly stream: IndexerStream

  constructor(scope: Construct, id: string, props: TooltrailProps = {}) {
    super(scope, id)
    const { model = 'demo/demo', logDays = RetentionDays.ONE_MONTH, retain = true } = props
    this.name = props.name ?? Names.uniqueResourceName(this, { maxLength: 22, separator: '-' }).toLowerCase()
    this.environmentName = props.environmentName ?? this.name
    const agents = shipAgents(props.agentsFile, props.sessionDays)
    this.stores = this.#stores(props, [model, ...agents.models])
    this.functions = createFunctions(this, this.stores, this.#settings(props, model, agents.json))
    const { worker, indexer, sweeper } = this.functions
    const called = this.#called(props)
    // The library's own construct for event sources is not used, because it grants more than Lambda needs.
    new EventSourceMapping(this, 'Hints', {
      target: called.worker,
      eventSourceArn: this.stores.queue.queue.queueArn,
      batchSize: 1,
      reportBatchItemFailures: true,
      maxConcurrency: props.maxWorkers ?? 20,
    }).node.addDependency(worker.role)
    this.stream = new IndexerStream(this, 'Stream', {
      table: this.stores.table,
      indexer,
      target: called.indexer,
      retain,
      encryptionKey: props.encryptionKey,
    })
    const failures: keyof SweeperVariables = 'TOOLTRAIL_FAILURES_BUCKET'
    sweeper.addEnvironment(failures, this.stream.failures.bucketName)
    this.stream.grantForgetting(sweeper)
    new SweepSchedule(this, 'Schedule', { sweeper: called.sweeper })
    this.publicApi = new PublicApi(this, 'PublicApi', {
      handler: called.api,
      apiName: this.name,
      logDays,
      throttle: props.throttle ?? { rate: 50, burst: 100 },
      openThrottle: props.openThrottle ?? { rate: 25, burst: 50 },
      logRole: props.apiGatewayLogs,
      firewall: props.firewall,
      customDomain: props.customDomain,
      cors: (props.corsOrigins ?? []).length > 0,
      xray: props.xray ?? false,
      vpcEndpoints: props.vpcEndpoints,
      allowedAddresses: props.allowedAddresses,
    })
  }

  #settings(props: TooltrailProps, model: string, agents: string): FunctionSettings {
    const { toolsFile, allowedHosts = [] } = props
    return {
      environmentName: this.environmentName,
      model,
      logLevel: props.logLevel ?? 'info',
      logDays: props.logDays ?? RetentionDays.ONE_MONTH,
      retain: props.retain ?? true,
      allowedHosts,
      corsOrigins: props.corsOrigins ?? [],
      keyCaps: props.keyCaps ?? { requestsPerSecond: 20, activeRuns: 50, openCalls: 100, tokensPerDay: 20_000_000 },
      tenantBudget: props.tenantBudget ?? {},
      maxRequests: props.maxRequests,
      reserveConcurrency: props.reserveConcurrency ?? false,
      indexerConcurrency: props.indexerConcurrency ?? 20,
      traceEndpoint: props.traceEndpoint,
      xray: props.xray ?? false,
      vpc: props.vpc,
      bundle: { agents, allowedHosts, ...(toolsFile === undefined ? {} : { toolsFile }) },
    }
  }

  /**
   * Returns what callers invoke for each function. This is an alias if versions are tried or processes are started in
   * advance, otherwise the function itself.
   */
  #called({ canary, provisionedConcurrency }: TooltrailProps): Readonly<Record<Handler, IFunction>> {
    if (canary === undefined && provisionedConcurrency === undefined) return this.functions
    const { name, environmentName, functions } = this
    const release = { name, environmentName, functions, canary: canary ?? 'off', provisionedConcurrency }
    return new Release(this, 'Release', release).aliases
  }

  #stores(props: TooltrailProps, models: readonly string[]): Stores {
    const { retain = true, encryptionKey } = props
    const kept = { retain, encryptionKey }
    const search = props.search ?? { kind: 'serverless', maxCapacity: 4 }
    return {
      table: props.table ?? new LogTable(this, 'Log', kept),
      outputs: props.outputs ?? new OutputBucket(this, 'Outputs', kept),
      search:
        'endpoint' in search ? search : createHistorySearch(this, 'Search', { ...kept, search, searchName: this.name }),
      queue: new RunQueue(this, 'Runs', { workerTimeout: LOOP_TIMEOUT, encryptionKey }),
      models: new ModelAccess(this, 'Models', { ...kept, models }),
    }
  }
}
