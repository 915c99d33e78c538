import { resolve } from 'node:path'
import * as z from 'zod'
import { definedFields } from '../../domain/defined-fields.ts'
import {
  capSettings,
  capVariables,
  listVariables,
  slackPlace,
  slackVariables,
  traceSettings,
  traceVariables,
} from './variables.ts'
import { LOG_LEVELS } from '../logger.ts'
import { DEFAULT_MODELS, defaultBedrock, modelSettings, modelVariables, namesCredentials } from './model-variables.ts'
import { httpAddress, settingText, variableFault } from './setting-text.ts'
import { SettingsError } from './settings-error.ts'

const portText = 'must be a port number, 1 to 65535, or 0 for any free one'
const port = z.coerce.number(portText).int(portText).min(0, portText).max(65_535, portText)
const text = z.string().min(1)

export const environment = z.object({
  PORT: port.default(3000),
  HOST: text.default('127.0.0.1'),
  TOOLTRAIL_DATA: text.default('./.tooltrail'),
  TOOLTRAIL_BACKEND: z.enum(['local', 'aws']).default('local'),
  TOOLTRAIL_TABLE: text.default('tooltrail'),
  TOOLTRAIL_BUCKET: text.default('tooltrail-outputs'),
  // An index name may not have capital letters, because OpenSearch rejects them.
  TOOLTRAIL_INDEX: z
    .string()
    .regex(/^[a-z][a-z0-9-]*$/, 'must be of a-z 0-9 - and begin with a letter')
    .default('history'),
  TOOLTRAIL_QUEUE_URL: httpAddress.optional(),
  TOOLTRAIL_POISON_URL: httpAddress.optional(),
  DYNAMODB_ENDPOINT: httpAddress.optional(),
  S3_ENDPOINT: httpAddress.optional(),
  SQS_ENDPOINT: httpAddress.optional(),
  OPENSEARCH_ENDPOINT: httpAddress.optional(),
  TOOLTRAIL_AGENTS: text.optional(),
  TOOLTRAIL_TOOLS: text.optional(),
  ...listVariables,
  ...slackVariables,
  ...capVariables,
  MODEL: text.optional(),
  ...modelVariables,
  ...traceVariables,
  LOG_LEVEL: z.enum(LOG_LEVELS).default('info'),
})

type Variables = Readonly<Record<string, unknown>>

export type Settings = ReturnType<typeof readSettings>

/**
 * Reads the program's settings from the environment, which no other module reads. An empty variable counts as unset.
 * Throws `SettingsError`, which names every wrong variable.
 */
export function readSettings(variables: Variables = process.env) {
  const values = parse(environment, variables)
  return {
    port: values.PORT,
    host: values.HOST,
    dataFolder: values.TOOLTRAIL_DATA,
    /** `named`: whether the operator named the file. A named file must exist. */
    agentsFile: { path: values.TOOLTRAIL_AGENTS ?? './agents.json', named: values.TOOLTRAIL_AGENTS !== undefined },
    /** Path of a module with custom tools. */
    ...definedFields({ toolsFile: values.TOOLTRAIL_TOOLS }),
    corsOrigins: values.TOOLTRAIL_CORS_ORIGINS ?? [],
    /** Internal hosts that are allowed in addresses that the operator configures. */
    allowedHosts: values.TOOLTRAIL_ALLOWED_HOSTS ?? [],
    /** Returns the value of a secret that a setting names. */
    secret: (name: string): string | undefined => textOf(variables[name]),
    slack: slackPlace(values),
    caps: capSettings(values),
    model: defaultModel(values),
    modelSettings: modelSettings(values),
    logLevel: values.LOG_LEVEL,
    /** Destination of the runs' spans. If absent, spans are not sent. */
    traces: traceSettings(values),
    /** Settings of AWS. If absent, everything runs on this machine. */
    ...(values.TOOLTRAIL_BACKEND === 'aws' ? { aws: awsSettings(values) } : {}),
  }
}

/**
 * Parses all variables with the schema, except empty ones. Throws `SettingsError`, which names every wrong variable.
 */
export function parse<Schema extends z.ZodType>(schema: Schema, variables: Variables): z.output<Schema> {
  const set = Object.fromEntries(Object.entries(variables).filter(([, value]) => value !== undefined && value !== ''))
  const parsed = schema.safeParse(set, { error: settingText })
  if (parsed.success) return parsed.data
  throw new SettingsError([...new Set(parsed.error.issues.map(variableFault))].join('\n'))
}

const textOf = (value: unknown): string | undefined => (typeof value === 'string' && value !== '' ? value : undefined)

/** Returns the default agent's model: `provider/model`. */
function defaultModel(values: z.output<typeof environment>): string {
  if (values.MODEL_BASE_URL !== undefined) {
    if (values.MODEL === undefined) throw new SettingsError('MODEL: name the model to use at MODEL_BASE_URL')
    return values.MODEL.startsWith('openai-compatible/') ? values.MODEL : `openai-compatible/${values.MODEL}`
  }
  if (values.MODEL !== undefined) return values.MODEL
  if (values.ANTHROPIC_API_KEY !== undefined) return DEFAULT_MODELS.anthropic
  if (values.OPENAI_API_KEY !== undefined) return DEFAULT_MODELS.openai
  if (values.AWS_REGION !== undefined && namesCredentials(values)) return defaultBedrock(values.AWS_REGION)
  return 'demo/demo'
}

function awsSettings(values: z.output<typeof environment>) {
  const { OPENSEARCH_ENDPOINT: opensearch, DYNAMODB_ENDPOINT: dynamodb, S3_ENDPOINT: s3, SQS_ENDPOINT: sqs } = values
  if (opensearch === undefined) throw new SettingsError('OPENSEARCH_ENDPOINT: set it to where the history index is')
  if (sqs === undefined && (values.TOOLTRAIL_QUEUE_URL === undefined || values.TOOLTRAIL_POISON_URL === undefined))
    throw new SettingsError(
      'TOOLTRAIL_QUEUE_URL, TOOLTRAIL_POISON_URL: set both, or set SQS_ENDPOINT to create them there',
    )
  return {
    region: values.AWS_REGION ?? 'us-east-1',
    table: values.TOOLTRAIL_TABLE,
    bucket: values.TOOLTRAIL_BUCKET,
    index: values.TOOLTRAIL_INDEX,
    queueUrl: values.TOOLTRAIL_QUEUE_URL,
    indexDeadLetterUrl: values.TOOLTRAIL_POISON_URL,
    endpoints: { dynamodb, s3, sqs, opensearch },
    credentials: engineCredentials(values),
  }
}

/** Returns credentials for engines on this machine if none are set. On AWS, the SDK finds its own. */
function engineCredentials(values: z.output<typeof environment>) {
  const { AWS_ACCESS_KEY_ID: accessKeyId, AWS_SECRET_ACCESS_KEY: secretAccessKey, DYNAMODB_ENDPOINT: endpoint } = values
  if (endpoint === undefined || accessKeyId !== undefined || secretAccessKey !== undefined) return undefined
  return { accessKeyId: 'local', secretAccessKey: 'localsecret' }
}

const ofStore = environment
  .pick({ TOOLTRAIL_INDEX: true, LOG_LEVEL: true })
  .extend({ TOOLTRAIL_ENVIRONMENT: text, TOOLTRAIL_TABLE: text, TOOLTRAIL_BUCKET: text, AWS_REGION: text })
  .extend({ TOOLTRAIL_QUEUE_URL: httpAddress })
  // The SDK also reads this variable. This program reads it because an engine that replaces S3 needs path-style
  // addresses.
  .extend({ AWS_ENDPOINT_URL_S3: httpAddress.optional() })
const ofSearch = ofStore.extend({ OPENSEARCH_ENDPOINT: httpAddress })
const ofLoop = ofSearch.extend({
  TOOLTRAIL_AGENTS: text,
  MODEL: text.default(DEFAULT_MODELS.bedrock),
  TOOLTRAIL_MODEL_SECRET: text,
  TOOLTRAIL_STOP_MARGIN_SECONDS: z.coerce.number().positive(),
  ...listVariables,
  SLACK_API_URL: environment.shape.SLACK_API_URL,
  SLACK_STREAM_SECONDS: environment.shape.SLACK_STREAM_SECONDS,
  ...capVariables,
  // Endpoint of the traces. Their headers are in the secret.
  OTEL_EXPORTER_OTLP_ENDPOINT: environment.shape.OTEL_EXPORTER_OTLP_ENDPOINT,
  /** Folder where Lambda puts the bundle. */
  LAMBDA_TASK_ROOT: text.default('.'),
})

function storeSettings(values: z.output<typeof ofStore>) {
  return {
    environment: values.TOOLTRAIL_ENVIRONMENT,
    region: values.AWS_REGION,
    table: values.TOOLTRAIL_TABLE,
    bucket: values.TOOLTRAIL_BUCKET,
    queueUrl: values.TOOLTRAIL_QUEUE_URL,
    logLevel: values.LOG_LEVEL,
    endpoints: { s3: values.AWS_ENDPOINT_URL_S3 },
  }
}

const searchSettings = (values: z.output<typeof ofSearch>) => ({
  ...storeSettings(values),
  search: { endpoint: values.OPENSEARCH_ENDPOINT, index: values.TOOLTRAIL_INDEX },
})

export type LoopSettings = ReturnType<typeof readLoopSettings>

/**
 * Reads the settings of the functions that execute runs: api and worker. Throws `SettingsError`, which names every
 * wrong variable.
 */
export function readLoopSettings(variables: Variables = process.env) {
  const values = parse(ofLoop, variables)
  return {
    ...searchSettings(values),
    agentsFile: { path: resolve(values.LAMBDA_TASK_ROOT, values.TOOLTRAIL_AGENTS), named: true },
    /** Folder of the bundle. */
    folder: resolve(values.LAMBDA_TASK_ROOT),
    model: values.MODEL,
    modelSecret: values.TOOLTRAIL_MODEL_SECRET,
    stopMarginMs: values.TOOLTRAIL_STOP_MARGIN_SECONDS * 1000,
    corsOrigins: values.TOOLTRAIL_CORS_ORIGINS ?? [],
    allowedHosts: values.TOOLTRAIL_ALLOWED_HOSTS ?? [],
    slack: slackPlace(values),
    caps: capSettings(values),
    /** Destination of the runs' spans. If absent, spans are not sent. */
    traceEndpoint: values.OTEL_EXPORTER_OTLP_ENDPOINT,
  }
}

export type OperationSettings = ReturnType<typeof readOperationSettings>

/**
 * Reads the settings of commands for a deployed environment. The region may also be set in the SDK's own configuration
 * files.
 */
export function readOperationSettings(variables: Variables = process.env) {
  const values = parse(
    environment
      .pick({ AWS_REGION: true, TOOLTRAIL_INDEX: true })
      .extend({ AWS_ENDPOINT_URL_S3: httpAddress.optional() }),
    variables,
  )
  return {
    region: values.AWS_REGION,
    index: values.TOOLTRAIL_INDEX,
    endpoints: { s3: values.AWS_ENDPOINT_URL_S3 },
  }
}

/**
 * Variables of each function on AWS. The stacks use these types, so that a stack without a required variable does not
 * compile.
 */
export interface StoreVariables {
  readonly TOOLTRAIL_ENVIRONMENT: string
  readonly TOOLTRAIL_TABLE: string
  readonly TOOLTRAIL_BUCKET: string
  readonly TOOLTRAIL_QUEUE_URL: string
  readonly LOG_LEVEL: string
}

/** Daily limits of tenants. */
export type BudgetVariables = Partial<Record<Extract<keyof typeof capVariables, `TOOLTRAIL_TENANT_${string}`>, string>>

interface LoopVariables extends StoreVariables, BudgetVariables {
  readonly OPENSEARCH_ENDPOINT: string
  /** Path of the agents' file, beside the bundle. */
  readonly TOOLTRAIL_AGENTS: string
  /** Model of the default agent: `provider/model`. */
  readonly MODEL?: string
  /** Name or ARN of the secret with the providers' keys. */
  readonly TOOLTRAIL_MODEL_SECRET: string
  /** The run is handed off this many seconds before the function times out. */
  readonly TOOLTRAIL_STOP_MARGIN_SECONDS: string
  readonly TOOLTRAIL_ALLOWED_HOSTS?: string
  /** Destination of the runs' spans. */
  readonly OTEL_EXPORTER_OTLP_ENDPOINT?: string
}

export interface ApiVariables extends LoopVariables, Partial<Record<keyof typeof capVariables, string>> {
  readonly TOOLTRAIL_CORS_ORIGINS?: string
}

export type WorkerVariables = LoopVariables
export interface IndexerVariables extends StoreVariables {
  readonly OPENSEARCH_ENDPOINT: string
  /** Number of replicas of the index. Set if the index is on a search domain. */
  readonly TOOLTRAIL_INDEX_COPIES?: string
  readonly TOOLTRAIL_POISON_URL: string
}

export interface SweeperVariables extends StoreVariables {
  /** Bucket for the stream batches that Lambda gives up on. */
  readonly TOOLTRAIL_FAILURES_BUCKET: string
}

/** Reads whether npx started this program, and the variables for the folders of other programs' sessions. */
export const readCommandSettings = (variables: NodeJS.ProcessEnv = process.env) => ({
  isNpx: variables['npm_command'] === 'exec',
  claude: textOf(variables['CLAUDE_CONFIG_DIR']),
  codex: textOf(variables['CODEX_HOME']),
})
