import { spawn, spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { createServer } from 'node:http'
import { join, resolve } from 'node:path'

/** Folders of the suites and of their Python programs. */
export const suites = join(import.meta.dirname, '../suites')
export const python = join(import.meta.dirname, '../python')

/** Returns the value of the option `--name`. */
export const argument = (name, fallback) => {
  const index = process.argv.indexOf(`--${name}`)
  return index < 0 ? fallback : process.argv[index + 1]
}
export const flag = (name) => process.argv.includes(`--${name}`)
/** The checkout whose program is started. `npm ci` must have run in it. */
export const checkout = resolve(argument('checkout', join(import.meta.dirname, '../../..')))
export const nodeOf = join(checkout, 'node_modules/.bin/node')
if (!existsSync(nodeOf)) {
  console.error(`${checkout} is no checkout after \`npm ci\`: name one with --checkout`)
  process.exit(2)
}
// The clients need Node 22. An older Node runs this program again with the checkout's own Node.
if (Number(process.versions.node.split('.')[0]) < 22)
  process.exit(spawnSync(nodeOf, process.argv.slice(1), { stdio: 'inherit' }).status ?? 1)

export const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms))
export const freePort = () =>
  new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address()
      server.close(() => resolve(port))
    })
  })

/** Runs a command until it ends, and returns its output. Kills the command after `limit` milliseconds. */
export function run(command, parts, { cwd, env, limit = 300_000, input } = {}) {
  return new Promise((done) => {
    const child = spawn(command, parts, {
      cwd,
      env: { ...process.env, ...env },
      stdio: [input === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'],
    })
    let stdout = '',
      stderr = ''
    child.stdout.on('data', (d) => {
      stdout += d
    })
    child.stderr.on('data', (d) => {
      stderr += d
    })
    if (input !== undefined) child.stdin.end(input)
    const timer = setTimeout(() => child.kill('SIGKILL'), limit)
    child.on('close', (code, signal) => {
      clearTimeout(timer)
      done({ code: code ?? signal, stdout, stderr })
    })
  })
}
