import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { WorkerVariables } from '../functions/runtime/settings/config.ts'

const STARTED_MS = 60_000

/**
 * Variables that a function reads when it starts. It connects to no service before its first event, so any values are
 * sufficient.
 */
const VARIABLES = {
  TOOLTRAIL_ENVIRONMENT: 'trial',
  TOOLTRAIL_TABLE: 'none',
  TOOLTRAIL_BUCKET: 'none',
  TOOLTRAIL_AGENTS: './agents.json',
  TOOLTRAIL_QUEUE_URL: 'https://none.invalid',
  TOOLTRAIL_MODEL_SECRET: 'none',
  TOOLTRAIL_STOP_MARGIN_SECONDS: '1',
  OPENSEARCH_ENDPOINT: 'https://none.invalid',
  MODEL: 'demo/demo',
  LOG_LEVEL: 'error',
} satisfies WorkerVariables

/**
 * Starts the bundled worker once, like Lambda. The start fails if an agent names a missing tool or member, or if a tool
 * cannot be loaded. Without this check, such a fault would be deployed, and no function would start. Throws the
 * worker's error.
 */
export function tryBundle(folder: string, allowedHosts: readonly string[] = []): void {
  const allowed: Partial<WorkerVariables> = { TOOLTRAIL_ALLOWED_HOSTS: allowedHosts.join(',') }
  const module = pathToFileURL(join(folder, 'index.mjs')).href
  const code = `
    try { await import(${JSON.stringify(module)}) }
    catch (error) { process.stderr.write(String(error?.message ?? error)); process.exit(1) }
    process.exit(0)`
  try {
    execFileSync(process.execPath, ['--input-type=module', '-e', code], {
      cwd: folder,
      timeout: STARTED_MS,
      encoding: 'utf8',
      stdio: 'pipe',
      env: { ...VARIABLES, ...allowed, AWS_REGION: 'us-east-1', LAMBDA_TASK_ROOT: folder },
    })
  } catch (cause) {
    const said = ((cause as { readonly stderr?: string }).stderr ?? '').trim()
    const reason = said === '' ? String(cause) : said.replaceAll(join(folder, '/'), '')
    throw new Error(`the functions would not start: ${reason}`, { cause })
  }
}
