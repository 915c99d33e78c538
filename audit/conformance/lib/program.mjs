import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { argument, checkout, flag, freePort, sleep } from './options.mjs'

/** Builds the `agents.json` of a suite. */
export const agents = (extra = {}, beside = {}) => ({
  agents: {
    default: {
      model: 'openai-compatible/scripted',
      instructions: 'Be brief.',
      tools: ['current_time', 'search_history', 'read_output'],
      ...extra,
    },
    bare: { model: 'openai-compatible/scripted', instructions: 'Be brief.', tools: [] },
  },
  ...beside,
})
/** Starts the program from the checkout, with an empty data folder. */
export async function program({ model, file = agents(), env = {}, port } = {}) {
  const data = mkdtempSync(join(tmpdir(), 'tooltrail-conf-'))
  port ??= Number(argument('port', 0)) || (await freePort())
  writeFileSync(join(data, 'agents.json'), JSON.stringify(file))
  const base = `http://127.0.0.1:${port}`
  const child = spawn('npm', ['start', '--silent'], {
    cwd: checkout,
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: {
      ...process.env,
      PORT: String(port),
      TOOLTRAIL_DATA: join(data, 'data'),
      TOOLTRAIL_AGENTS: join(data, 'agents.json'),
      LOG_LEVEL: 'warn',
      ...(model ? { MODEL: 'scripted', MODEL_BASE_URL: model.url } : {}),
      ...env,
    },
  })
  let log = ''
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (d) => {
      log = (log + d).slice(-400_000)
    })
  const ended = new Promise((r) => child.on('exit', r))
  const stop = async () => {
    try {
      process.kill(-child.pid, 'SIGINT')
    } catch {
      // It has ended already.
    }
    await Promise.race([ended, sleep(25_000)])
    try {
      process.kill(-child.pid, 'SIGKILL')
    } catch {
      // It has ended already.
    }
    if (!flag('keep')) rmSync(data, { recursive: true, force: true })
  }
  for (let i = 0; ; i++) {
    try {
      if ((await fetch(`${base}/health`)).status < 500) break
    } catch {
      // The program does not accept connections yet.
    }
    if (i > 300 || child.exitCode !== null) {
      await stop()
      throw new Error(`the program did not start: ${log.slice(-2000)}`)
    }
    await sleep(100)
  }
  return { base, data, pid: child.pid, stop, log: () => log }
}
