import { spawn, spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { printTable, quantile, timed } from './report.ts'

/**
 * Measures the time from the start of `node` to the first line "listens on", and the time to import the API. The
 * reference is the time of `node -e 0`.
 */
const RUNS = 7
const root = join(import.meta.dirname, '..')

async function repeated(work: () => unknown): Promise<number[]> {
  const times: number[] = []
  for (let run = 0; run < RUNS; run++) times.push(await timed(work))
  return times
}

function runScript(script: string): void {
  const { status } = spawnSync(process.execPath, ['--input-type=module', '-e', script], { cwd: root, stdio: 'inherit' })
  if (status !== 0) throw new Error(`the script ended with ${status}`)
}

async function start(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'tooltrail-start-'))
  const env = { ...process.env, PORT: '0', TOOLTRAIL_DATA: folder, MODEL: 'demo/demo', LOG_LEVEL: 'silent' }
  const child = spawn(process.execPath, ['functions/handlers/local.ts'], { cwd: root, env })
  await new Promise((resolve, reject) => {
    child.stdout.once('data', resolve)
    child.once('exit', () => reject(new Error('the program ended before it listened')))
  })
  child.removeAllListeners('exit')
  const ended = new Promise((resolve) => child.once('exit', resolve))
  child.kill('SIGKILL')
  await ended
  rmSync(folder, { recursive: true, force: true })
}

const bare = await repeated(() => runScript('0'))
const hono = await repeated(() => runScript("await import('hono')"))
const api = await repeated(() => runScript("await import('./functions/http/app.ts')"))
const program = await repeated(start)
const base = quantile(bare, 0.5)
const row = (name: string, times: readonly number[]) => [
  name,
  quantile(times, 0.5),
  quantile(times, 0.5) - base,
  `${(quantile(times, 0.5) / base).toFixed(2)} x`,
]
printTable(
  'Start-up, milliseconds',
  ['', 'p50', 'beside bare node', 'against bare node'],
  [
    row('node, nothing imported', bare),
    row('import hono', hono),
    row('import the API module', api),
    row('the program, until it listens', program),
  ],
)
