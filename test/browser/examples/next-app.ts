import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join, resolve } from 'node:path'
import type { BrowserContextOptions, Page } from 'playwright-core'
import { createClient } from '../../../functions/client/client.ts'
import type { Client } from '../../../functions/client/client.ts'
import { startProgram } from '../../e2e/backend/program.ts'
import { BROWSER_TIMEOUT_MS, launchChromium } from '../chromium.ts'

const ROOT = resolve(import.meta.dirname, '../../..')
const EXAMPLE = 'examples/next-chat'
const KEYS = join(ROOT, 'functions/cli/tooltrail.ts')

/** The built example and the program, both running, and a browser. */
export interface NextApp {
  readonly url: string
  /** Errors of the pages, and forbidden requests: those with the key, and those to other hosts. */
  readonly complaints: string[]
  /** The key that the example's route adds to each request. */
  readonly key: string
  /** A client that sends the key to the program. */
  readonly client: Client
  show(path: string, options?: BrowserContextOptions): Promise<Page>
  close(): Promise<void>
}

/** Packs the program, installs and builds the example beside the package, and starts both in a temporary folder. */
export async function openNextApp(): Promise<NextApp> {
  const folder = mkdtempSync(join(tmpdir(), 'tooltrail-next-'))
  const example = join(folder, EXAMPLE)
  const env = {
    ...process.env,
    // npm and Next.js run with the pinned Node.
    PATH: [dirname(process.execPath), process.env['PATH']].join(delimiter),
    NEXT_TELEMETRY_DISABLED: '1',
    NODE_ENV: 'production',
  }
  const run = (cwd: string, program: string, ...argv: string[]): string =>
    execFileSync(program, argv, { cwd, env, encoding: 'utf8', stdio: 'pipe' })
  const packed = run(ROOT, 'npm', 'pack', '--pack-destination', folder).trim().split('\n').at(-1) ?? ''
  run(folder, 'tar', 'xzf', packed, '--strip-components=1')
  const files = run(ROOT, 'git', 'ls-files', '--cached', '--others', '--exclude-standard', EXAMPLE)
  for (const file of files.trim().split('\n')) cpSync(join(ROOT, file), join(folder, file), { recursive: true })
  run(example, 'npm', 'install', '--include=dev', '--ignore-scripts', '--no-audit', '--no-fund')
  const next = join(example, 'node_modules/next/dist/bin/next')
  run(example, process.execPath, next, 'build')
  const data = join(folder, 'data')
  const keys = [KEYS, 'keys', 'create', '--tenant', 'default', '--scope', 'read', '--scope', 'write']
  const program = await startProgram({ env: { TOOLTRAIL_DATA: data } })
  const key = execFileSync(process.execPath, keys, { encoding: 'utf8', env: { ...env, TOOLTRAIL_DATA: data } }).trim()
  const served = spawn(process.execPath, [next, 'start', '--port', '0', '--hostname', '127.0.0.1'], {
    cwd: example,
    env: { ...env, TOOLTRAIL_URL: program.client.url, TOOLTRAIL_KEY: key },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const url = await addressIn(served.stdout)
  const browser = await launchChromium()
  const complaints: string[] = []
  return {
    url,
    key,
    complaints,
    client: createClient({ url: program.client.url, key }),
    async show(path, options = {}) {
      const context = await browser.newContext(options)
      context.setDefaultTimeout(BROWSER_TIMEOUT_MS)
      const page = await context.newPage()
      page.on('pageerror', (error) => complaints.push(`${path}: ${error.message}`))
      page.on('request', (request) => {
        const sent = JSON.stringify([request.url(), request.headers(), request.postData()])
        if (!request.url().startsWith(`${url}/`) || sent.includes(key)) complaints.push(sent)
      })
      await page.goto(`${url}${path}`)
      return page
    },
    async close() {
      await browser.close()
      served.kill('SIGKILL')
      await once(served, 'exit')
      await program.kill()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** Reads the address that Next.js prints when it accepts requests. */
function addressIn(output: NodeJS.ReadableStream): Promise<string> {
  const { promise, resolve: found, reject } = Promise.withResolvers<string>()
  let text = ''
  output.on('data', (chunk: Buffer) => {
    text += chunk.toString()
    const address = /http:\/\/127\.0\.0\.1:\d+/.exec(text)?.[0]
    if (address !== undefined && text.includes('Ready')) found(address)
  })
  output.on('end', () => reject(new Error(`Next.js ended before it was ready: ${text}`)))
  return promise
}
