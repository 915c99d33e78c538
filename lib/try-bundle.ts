import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { IndexerVariables, SweeperVariables, WorkerVariables } from '../functions/runtime/settings/config.ts'

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
  TOOLTRAIL_POISON_URL: 'https://none.invalid',
  TOOLTRAIL_FAILURES_BUCKET: 'none',
  TOOLTRAIL_MODEL_SECRET: 'none',
  TOOLTRAIL_STOP_MARGIN_SECONDS: '1',
  OPENSEARCH_ENDPOINT: 'https://none.invalid',
  MODEL: 'demo/demo',
  LOG_LEVEL: 'error',
} satisfies IndexerVariables & SweeperVariables & WorkerVariables

/** Options for the start of a bundle. */
export interface BundleStart {
  readonly allowedHosts?: readonly string[]
  /** File that is loaded. Default: the entry that Lambda loads. */
  readonly entry?: string
  /** Folder where Node stores a code cache of the start. */
  readonly cache?: string
}

/**
 * Starts a bundle once, like Lambda. The start fails if an agent names a missing tool or member, or if a tool cannot be
 * loaded. Without this check, such a fault would be deployed, and no function would start. Throws the function's error.
 */
export function startBundle(folder: string, { allowedHosts = [], entry = 'index.mjs', cache }: BundleStart = {}): void {
  const allowed: Partial<WorkerVariables> = { TOOLTRAIL_ALLOWED_HOSTS: allowedHosts.join(',') }
  const module = pathToFileURL(join(folder, entry)).href
  const code = `
    import { enableCompileCache, flushCompileCache } from 'node:module'
    ${cache === undefined ? '' : `enableCompileCache({ directory: ${JSON.stringify(cache)}, portable: true })`}
    try { await import(${JSON.stringify(module)}) }
    catch (error) { process.stderr.write(String(error?.message ?? error)); process.exit(1) }
    flushCompileCache()
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
