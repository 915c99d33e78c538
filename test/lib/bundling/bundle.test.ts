/* Evidence, cloud: A wrong setting of an environment stops synthesis with a line that names it. */
import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { readPageAssets } from '../../../functions/http/docs/page.ts'
import { bundleHandler, type Bundle, type Handler } from '../../../lib/bundle.ts'

const ROOT = resolve(import.meta.dirname, '../../..')
const folder = mkdtempSync(join(tmpdir(), 'tooltrail-bundle-'))
const agents = JSON.stringify({ agents: { clerk: { tools: ['stock_level', 'current_time'] } } })
const toolsFile = join(import.meta.dirname, '../sample-tools.ts')
const HANDLERS: readonly Handler[] = ['api', 'worker', 'indexer', 'sweeper']
const bundles = new Map<string, Bundle>()

beforeAll(async () => {
  for (const handler of HANDLERS)
    bundles.set(handler, await bundleHandler(handler, join(folder, handler), { agents, toolsFile }))
})
afterAll(() => rmSync(folder, { recursive: true }))

/** Starts the bundle's code as Lambda does: alone in its folder, with only these variables. */
function load(handler: Handler, file?: string): string {
  const code = `
    const { handler } = await import(${JSON.stringify(pathToFileURL(join(folder, handler, 'index.mjs')).href)})
    process.stdout.write(typeof handler)
    process.exit(0)`
  return start(code, handler, file)
}

function start(code: string, handler: Handler, file = join(folder, handler, 'agents.json')): string {
  const lambda = 'globalThis.awslambda = { streamifyResponse: (run) => run, HttpResponseStream: {} };'
  return execFileSync(process.execPath, ['--input-type=module', '-e', lambda + code], {
    cwd: join(folder, handler),
    encoding: 'utf8',
    stdio: 'pipe',
    env: {
      AWS_REGION: 'eu-central-1',
      AWS_ACCESS_KEY_ID: 'none',
      AWS_SECRET_ACCESS_KEY: 'none',
      LAMBDA_TASK_ROOT: join(folder, handler),
      TOOLTRAIL_ENVIRONMENT: 'dev',
      TOOLTRAIL_TABLE: 'table',
      TOOLTRAIL_BUCKET: 'bucket',
      TOOLTRAIL_AGENTS: file,
      OPENSEARCH_ENDPOINT: 'https://abc.eu-central-1.aoss.amazonaws.com',
      TOOLTRAIL_QUEUE_URL: 'https://sqs.eu-central-1.amazonaws.com/1/runs',
      TOOLTRAIL_POISON_URL: 'https://sqs.eu-central-1.amazonaws.com/1/poison',
      TOOLTRAIL_FAILURES_BUCKET: 'failures',
      TOOLTRAIL_MODEL_SECRET: 'secret',
      TOOLTRAIL_STOP_MARGIN_SECONDS: '300',
      MODEL: 'demo/demo',
      LOG_LEVEL: 'info',
    },
  })
}

describe('the bundle of', () => {
  test.each([
    ['api', 1_120],
    ['worker', 900],
    ['indexer', 520],
    ['sweeper', 540],
  ] as const)('%s loads at most %i KB before its first request', (handler, kilobytes) =>
    expect(bundles.get(handler)?.eagerBytes).toBeLessThanOrEqual(kilobytes * 1_000),
  )

  test.each(HANDLERS)('%s loads no model provider before its first request', (handler) =>
    expect(bundles.get(handler)?.eagerPackages.filter((name) => name.startsWith('@ai-sdk/'))).toEqual([]),
  )

  test.each(HANDLERS)('%s loads no tracing code before it knows that traces are enabled', (handler) =>
    expect(
      bundles
        .get(handler)
        ?.eagerPackages.filter((name) => name.startsWith('@opentelemetry/') && !name.endsWith('/api')),
    ).toEqual([]),
  )

  test.each(HANDLERS)('%s starts from its own folder alone', (handler) => expect(load(handler)).toBe('function'))

  test.each(HANDLERS)('%s loads one file of code beside its entry', (handler) => {
    const code = readFileSync(join(folder, handler, 'main.mjs'), 'utf8')
    const imports = [...code.matchAll(/\bfrom\s*["']([^"']+)["']/g)].map(([, name = '']) => name)
    expect(imports.filter((name) => name.startsWith('.'))).toEqual([])
    expect(readFileSync(join(folder, handler, 'index.mjs'), 'utf8')).toBe("export{handler}from'./main.mjs'\n")
  })

  test.each(HANDLERS)('%s has lazy chunks that all load', (handler) => {
    const files = readdirSync(join(folder, handler, 'chunks')).map((file) => join(folder, handler, 'chunks', file))
    const names = files.map((file) => JSON.stringify(pathToFileURL(file).href))
    const code = `await import(${JSON.stringify(pathToFileURL(join(folder, handler, 'index.mjs')).href)})
      for (const name of [${names.join()}]) await import(name)
      process.stdout.write('loaded')
      process.exit()`
    expect(start(code, handler)).toBe('loaded')
  })

  test.each(HANDLERS)('%s has at most 4 MB and no source maps', (handler) => {
    const files = readdirSync(join(folder, handler), { recursive: true, encoding: 'utf8', withFileTypes: true }).filter(
      (entry) => entry.isFile(),
    )
    const bytes = files.reduce((sum, { parentPath, name }) => sum + statSync(join(parentPath, name)).size, 0)
    expect(bytes).toBeLessThan(4_000_000)
    expect(files.filter(({ name }) => name.endsWith('.map'))).toEqual([])
  })

  test('the API includes the style and the script of its documentation, and the agents', async () => {
    const source = join(ROOT, 'functions/http/docs')
    expect(await readPageAssets(join(folder, 'api/docs'))).toEqual(await readPageAssets(source))
    expect(readFileSync(join(folder, 'api/agents.json'), 'utf8')).toBe(agents)
  })

  test('the API includes the page, and no other function does', () => {
    const files = (path: string): string[] => readdirSync(path, { recursive: true, encoding: 'utf8' }).toSorted()
    expect(files(join(folder, 'api/page'))).toEqual(files(join(ROOT, 'built/page')))
    expect(HANDLERS.filter((handler) => existsSync(join(folder, handler, 'page')))).toEqual(['api'])
  })
})

describe('custom tools of a deployment', () => {
  test.each(['api', 'worker'] as const)('are included in the %s, where agents can name them', (handler) => {
    const others = join(folder, `${handler}-others.json`)
    writeFileSync(others, JSON.stringify({ agents: { clerk: { tools: ['no_such_tool'] } } }))
    expect(load(handler)).toBe('function')
    expect(() => load(handler, others)).toThrow(/there is no tool \\?"no_such_tool\\?"; there are .*stock_level/)
  })

  test('are absent from a bundle that was made without custom tools', async () => {
    const plain = mkdtempSync(join(folder, 'plain-'))
    await bundleHandler('worker', plain, { agents })
    const code = readdirSync(plain, { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith('.mjs'))
      .map((file) => readFileSync(join(plain, file), 'utf8'))
    expect(code.join('')).not.toContain('stock_level')
  })
})

describe('the bundling program of the constructs', () => {
  function run(
    handler: Handler,
    options: object,
  ): { readonly out: string; readonly status: number | null; said: string } {
    const out = mkdtempSync(join(folder, 'command-'))
    const words = [join(ROOT, 'lib/bundle-command.ts'), handler, out, JSON.stringify(options)]
    const { status, stderr } = spawnSync(process.execPath, words, { encoding: 'utf8' })
    return { out, status, said: stderr }
  }

  test('writes bundles into the given folder', () => {
    const { out, status } = run('sweeper', {})
    expect([status, existsSync(join(out, 'index.mjs'))]).toEqual([0, true])
  })

  test('checks that the functions start with the custom code, and prints one line if they do not', () => {
    expect(run('worker', { agents, toolsFile })).toMatchObject({ status: 0, said: '' })
    const { status, said } = run('worker', { agents })
    expect(status).toBe(1)
    expect(said).toMatch(
      /^worker: the functions would not start: agents.json: agents.clerk.tools.0: there is no tool "stock_level".*\n$/,
    )
  })

  test('accepts a server on plain HTTP only if the environment allows its host', () => {
    const mcp = { tools: { url: 'http://tools.example.com:8080/mcp' } }
    const plain = JSON.stringify({ agents: { clerk: { mcp } } })
    expect(run('worker', { agents: plain }).said).toContain('must be https')
    expect(run('worker', { agents: plain, allowedHosts: ['tools.example.com:8080'] })).toMatchObject({ status: 0 })
  })
})
