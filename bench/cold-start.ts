import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { buildSync } from 'esbuild'
import { bundleHandler } from '../lib/bundle.ts'
import { addCodeCache } from '../lib/code-cache.ts'
import { printTable, quantile } from './report.ts'

/**
 * Measures the processor time and the wall time that a cold start of each function takes to load its bundle and create
 * its handler, with and without the code cache. Each start is a new process. The references are two handlers that do
 * nothing: one with only Hono, and one with a DynamoDB client.
 */
const STARTS = 12
/** Maximum ratio to Hono with a DynamoDB client, in processor time with the code cache. */
const AIM = { api: 2.5, worker: 2, indexer: 1.6, sweeper: 1.4 } as const

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
const cpu = process.cpuUsage()
const begun = performance.now()
const { handler } = await import(process.argv[2])
const wallMs = performance.now() - begun
const { user, system } = process.cpuUsage(cpu)
if (typeof handler !== 'function') throw new Error('the bundle has no handler')
console.log(JSON.stringify([wallMs, (user + system) / 1000]))
process.exit()`

interface Subject {
  readonly name: string
  readonly folder: string
  /** File name of the entry module. */
  readonly entry: string
  /** Bytes of the code that the start loads. */
  readonly bytes?: number
  readonly aim?: number
  readonly wallMs: number[]
  readonly cpuMs: number[]
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
  return { name, folder, entry: 'stdin.mjs', wallMs: [], cpuMs: [] }
}

/** Bundles a handler twice: without a code cache, and with one in the folders that it has on Lambda. */
async function bundleBoth(handler: keyof typeof AIM, root: string): Promise<readonly Subject[]> {
  const folder = join(root, handler)
  const { eagerBytes: bytes } = await bundleHandler(handler, folder, { agents: '{"agents":{}}' })
  const cached = join(root, `${handler}-cached`, 'var/task')
  cpSync(folder, cached, { recursive: true })
  mkdirSync(join(root, `${handler}-cached`, 'tmp'))
  addCodeCache(cached)
  const subject = { entry: 'index.mjs', bytes }
  return [
    { ...subject, name: handler, folder, wallMs: [], cpuMs: [] },
    { ...subject, name: `${handler}, code cache`, folder: cached, aim: AIM[handler], wallMs: [], cpuMs: [] },
  ]
}

/** Starts each subject in each round, so that other load on the machine affects all of them. */
function startInTurns(subjects: readonly Subject[], measure: string): void {
  for (let start = 0; start <= STARTS; start++)
    for (const { folder, entry, wallMs, cpuMs } of subjects) {
      const url = pathToFileURL(join(folder, entry)).href
      const output = execFileSync(process.execPath, [measure, url], {
        env: { ...VARIABLES, LAMBDA_TASK_ROOT: folder },
        encoding: 'utf8',
      })
      const [wall, cpu] = JSON.parse(output) as [number, number]
      if (start === 0) continue
      wallMs.push(wall)
      cpuMs.push(cpu)
    }
}

const root = mkdtempSync(join(tmpdir(), 'tooltrail-cold-start-'))
try {
  const measure = join(root, 'measure.mjs')
  writeFileSync(measure, MEASURE)
  const reference = bundleSource('Hono and a DynamoDB client', WITH_DYNAMODB, join(root, 'dynamodb'))
  const subjects: Subject[] = [bundleSource('Hono alone', BARE, join(root, 'bare')), reference]
  for (const handler of ['api', 'worker', 'indexer', 'sweeper'] as const)
    subjects.push(...(await bundleBoth(handler, root)))
  startInTurns(subjects, measure)
  const base = { wall: quantile(reference.wallMs, 0.5), cpu: quantile(reference.cpuMs, 0.5) }
  printTable(
    `Loading a function's bundle in a new process, median of ${STARTS}, against Hono + DynamoDB client`,
    ['handler', 'CPU ms', 'CPU ratio', 'aim', 'wall ms', 'wall ratio', 'eager KB'],
    subjects.map(({ name, wallMs, cpuMs, bytes, aim }) => {
      const [wall, cpu] = [quantile(wallMs, 0.5), quantile(cpuMs, 0.5)]
      return [
        name,
        cpu,
        `${(cpu / base.cpu).toFixed(2)} x`,
        aim === undefined ? '' : `${aim} x`,
        wall,
        `${(wall / base.wall).toFixed(2)} x`,
        bytes === undefined ? '' : String(Math.round(bytes / 1000)),
      ]
    }),
  )
} finally {
  rmSync(root, { recursive: true, force: true })
}
