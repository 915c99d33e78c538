import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { buildSync } from 'esbuild'
import { bundleHandler } from '../lib/bundle.ts'
import { printTable, quantile } from './report.ts'

/**
 * Measures the time that a cold start of each function takes to load its bundle and create its handler. Each start is a
 * new process. The references are two handlers that do nothing: one with only Hono, and one with a DynamoDB client.
 */
const STARTS = 15
const BUDGET = { api: 900_000, worker: 1_400_000, indexer: 600_000, sweeper: undefined } as const

const VARIABLES = {
  PATH: process.env['PATH'],
  AWS_REGION: 'eu-central-1',
  AWS_ACCESS_KEY_ID: 'local',
  AWS_SECRET_ACCESS_KEY: 'local',
  TOOLTRAIL_ENVIRONMENT: 'bench',
  TOOLTRAIL_TABLE: 'bench',
  TOOLTRAIL_BUCKET: 'bench',
  TOOLTRAIL_QUEUE_URL: 'https://sqs.eu-central-1.amazonaws.com/1/runs',
  TOOLTRAIL_POISON_URL: 'https://sqs.eu-central-1.amazonaws.com/1/poison',
  TOOLTRAIL_FAILURES_BUCKET: 'bench',
  TOOLTRAIL_AGENTS: './agents.json',
  TOOLTRAIL_MODEL_SECRET: 'bench',
  TOOLTRAIL_STOP_MARGIN_SECONDS: '300',
  OPENSEARCH_ENDPOINT: 'https://bench.aoss.eu-central-1.on.aws',
}

const BARE = `
import { Hono } from 'hono'
import { handle } from 'hono/aws-lambda'
export const handler = handle(new Hono().get('/', (c) => c.text('fine')))`
const WITH_DYNAMODB = `
import { DynamoDBClient, GetItemCommand } from '@aws-sdk/client-dynamodb'
import { Hono } from 'hono'
import { handle } from 'hono/aws-lambda'
const client = new DynamoDBClient({})
const read = () => client.send(new GetItemCommand({ TableName: 't', Key: { pk: { S: 'a' } } }))
export const handler = handle(new Hono().get('/', async (c) => c.json(await read())))`

const MEASURE = `
const begun = performance.now()
const { handler } = await import(process.argv[2])
if (typeof handler !== 'function') throw new Error('the bundle has no handler')
console.log(performance.now() - begun)
process.exit()`

interface Subject {
  readonly name: string
  readonly folder: string
  /** File name of the entry module. */
  readonly entry: string
  /** Bytes of the code that the start loads. */
  readonly bytes?: number
  readonly budget?: number | undefined
  readonly times: number[]
}

/** Bundles a handler for comparison, like our handlers. */
function bundleSource(name: string, contents: string, folder: string): Subject {
  buildSync({
    stdin: { contents, resolveDir: resolve(import.meta.dirname, '..') },
    outdir: folder,
    outExtension: { '.js': '.mjs' },
    bundle: true,
    splitting: true,
    minify: true,
    format: 'esm',
    platform: 'node',
    target: 'node24',
    mainFields: ['module', 'main'],
    conditions: ['module'],
  })
  return { name, folder, entry: 'stdin.mjs', times: [] }
}

const root = mkdtempSync(join(tmpdir(), 'tooltrail-cold-start-'))
try {
  const measure = join(root, 'measure.mjs')
  writeFileSync(measure, MEASURE)
  const subjects: Subject[] = [
    bundleSource('Hono alone', BARE, join(root, 'bare')),
    bundleSource('Hono and a DynamoDB client', WITH_DYNAMODB, join(root, 'dynamodb')),
  ]
  for (const handler of ['api', 'worker', 'indexer', 'sweeper'] as const) {
    const folder = join(root, handler)
    const { eagerBytes } = await bundleHandler(handler, folder, { agents: '{"agents":{}}' })
    subjects.push({ name: handler, folder, entry: 'index.mjs', bytes: eagerBytes, budget: BUDGET[handler], times: [] })
  }
  // Each round starts all subjects one after the other, so that other load on the machine affects all of them.
  for (let start = 0; start <= STARTS; start++)
    for (const { folder, entry, times } of subjects) {
      const url = pathToFileURL(join(folder, entry)).href
      const output = execFileSync(process.execPath, [measure, url], {
        env: { ...VARIABLES, LAMBDA_TASK_ROOT: folder },
        encoding: 'utf8',
      })
      if (start > 0) times.push(Number(output))
    }
  const [bare, dynamodb] = subjects.map(({ times }) => quantile(times, 0.5))
  const against = (time: number, base = Number.NaN): string => `${(time / base).toFixed(2)} x`
  printTable(
    `Loading a function's bundle in a new process, ${STARTS} times, milliseconds`,
    ['handler', 'p50', 'p95', 'against Hono', 'against Hono + DynamoDB', 'eager KB', 'budget KB'],
    subjects.map(({ name, times, bytes, budget }) => {
      const median = quantile(times, 0.5)
      const kilobytes = (size: number | undefined): string =>
        size === undefined ? '' : String(Math.round(size / 1000))
      return [
        name,
        median,
        quantile(times, 0.95),
        against(median, bare),
        against(median, dynamodb),
        kilobytes(bytes),
        kilobytes(budget),
      ]
    }),
  )
} finally {
  rmSync(root, { recursive: true, force: true })
}
