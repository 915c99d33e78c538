import { spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { connect } from 'node:net'
import type { Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { printTable } from './report.ts'

/**
 * Measures the memory that the program spends on clients that read nothing. `--only <case>` measures only one case.
 * `--clients <n>` sets the number of clients. `--runs <n>` sets the number of runs; default: three.
 *
 * First, some clients read everything. Then two equal groups of further clients connect. Figures are per client. Two
 * figures show the growth of memory, including garbage: for both groups, and for the second group only. The second
 * group reuses heap memory of the first group's garbage. The third figure, from another program, excludes garbage.
 *
 * Also measures the latency of the health check while the clients are connected. Prints the minimum and maximum of all
 * runs, each of which starts new programs. Needs Linux.
 */
const root = join(import.meta.dirname, '..')
const INPUT = 'An input of four megabytes. '.repeat(140_000)
/** Milliseconds after which all responses have been built and are being sent, even on a busy machine. */
const SETTLE_MS = 20_000
const PROBES = 20
/** Number of clients that read everything. They precede the clients that read nothing. */
const READERS = 24

/** Code that the program loads before its own code. On request, it collects garbage and reports the bytes in use. */
const HELD = `process.on('message', () => {
  gc()
  // What the first one found is given back a little later.
  setTimeout(() => {
    gc()
    const { heapUsed, external } = process.memoryUsage()
    process.send(heapUsed + external)
  }, 200)
})`

interface Program {
  readonly url: string
  readonly pid: number
  /** Bytes in use, without garbage. */
  held(): Promise<number>
  stop(): Promise<void>
}

async function start(): Promise<Program> {
  const folder = mkdtempSync(join(tmpdir(), 'tooltrail-slow-'))
  const env = { ...process.env, PORT: '0', TOOLTRAIL_DATA: folder, MODEL: 'demo/demo', LOG_LEVEL: 'silent' }
  const asked = ['--expose-gc', '--import', `data:text/javascript,${encodeURIComponent(HELD)}`]
  const args = [...asked, 'functions/handlers/local.ts']
  const child = spawn(process.execPath, args, { cwd: root, env, stdio: ['ignore', 'pipe', 'ignore', 'ipc'] })
  const line = await new Promise<string>((resolve, reject) => {
    child.stdout?.once('data', (data: Buffer) => resolve(data.toString()))
    child.once('exit', () => reject(new Error('the program ended before it listened')))
  })
  const url = /http:\/\/\S+/.exec(line)?.[0]
  if (url === undefined || child.pid === undefined) throw new Error(`not understood: ${line}`)
  child.removeAllListeners('exit')
  const ended = new Promise((resolve) => child.once('exit', resolve))
  return {
    url,
    pid: child.pid,
    held: () =>
      new Promise((resolve) => {
        child.once('message', (bytes) => resolve(Number(bytes)))
        child.send('held')
      }),
    async stop() {
      child.kill('SIGKILL')
      await ended
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

async function post(url: string, body: object): Promise<{ id: string }> {
  const init = { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }
  const response = await fetch(url, init)
  if (!response.ok) throw new Error(`${url}: ${response.status} ${await response.text()}`)
  return (await response.json()) as { id: string }
}

/** Opens a client that sends a request and reads nothing. */
function ask(url: string, path: string): Promise<Socket> {
  const { hostname, port } = new URL(url)
  return new Promise((resolve, reject) => {
    const socket = connect({ host: hostname, port: Number(port) }, () => {
      socket.pause()
      socket.write(`GET ${path} HTTP/1.1\r\nhost: ${hostname}:${port}\r\n\r\n`)
      resolve(socket)
    })
    socket.once('error', reject)
  })
}

/** Returns the program's resident memory, in bytes. */
const memory = (pid: number): number =>
  Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) * 1024

async function slowestHealth(url: string): Promise<number> {
  let slowest = 0
  for (let probe = 0; probe < PROBES; probe++) {
    const begun = performance.now()
    await (await fetch(`${url}/healthz`)).text()
    slowest = Math.max(slowest, performance.now() - begun)
    await sleep(SETTLE_MS / PROBES)
  }
  return slowest
}

interface Case {
  readonly name: string
  readonly clients: number
  /** Prepares the data. Returns the path that clients request. */
  prepare(url: string): Promise<string>
}

const api = (url: string): string => `${url}/v1/sessions`

async function inputs(url: string, count: number): Promise<{ id: string }> {
  await post(api(url), { id: 's' })
  let run = { id: '' }
  for (let at = 0; at < count; at++) run = await post(`${api(url)}/s/messages`, { content: `${at} ${INPUT}` })
  return run
}

const CASES: readonly Case[] = [
  {
    name: 'the page of the docs',
    clients: 1_000,
    prepare: async () => '/docs',
  },
  {
    name: 'events of a run with an input of 4 MB',
    clients: 1_000,
    prepare: async (url) => `/v1/sessions/s/runs/${(await inputs(url, 1)).id}/events`,
  },
  {
    name: 'pages of a log of 24 × 4 MB',
    clients: 1_000,
    prepare: async (url) => {
      await inputs(url, 24)
      return '/v1/sessions/s/messages?limit=200'
    },
  },
  {
    name: 'pages of 24 logs of 4 MB, each its own',
    clients: 24,
    prepare: async (url) => {
      for (let at = 0; at < 24; at++) {
        await post(api(url), { id: `s${at}` })
        await post(`${api(url)}/s${at}/messages`, { content: `${at} ${INPUT}` })
      }
      return '/v1/sessions/s{client}/messages?limit=200'
    },
  },
  {
    name: 'pages of a log of 24 × 4 MB as Chat Completions messages',
    clients: 1_000,
    prepare: async (url) => {
      await inputs(url, 24)
      return '/v1/sessions/s/messages?limit=200&format=openai'
    },
  },
  {
    name: 'UIMessages of a log of 24 × 4 MB',
    clients: 1_000,
    prepare: async (url) => {
      await inputs(url, 24)
      return '/v1/chat/s'
    },
  },
  {
    name: 'exports of a log of 24 × 4 MB',
    clients: 1_000,
    prepare: async (url) => {
      await inputs(url, 24)
      return '/v1/sessions/s/export'
    },
  },
  {
    name: 'searches that find 24 texts of 4 MB',
    clients: 1_000,
    prepare: async (url) => {
      await inputs(url, 24)
      return '/v1/search?q=megabytes&limit=50'
    },
  },
  {
    name: 'downloads of a file of 3 MB',
    clients: 1_000,
    prepare: async (url) => {
      await post(api(url), { id: 's' })
      const data = Buffer.alloc(3_000_000, 'x').toString('base64')
      const part = { type: 'file', media_type: 'text/plain', data }
      const run = (await post(`${api(url)}/s/messages`, { content: [part] })) as { id: string; messages?: unknown }
      const [message] = run.messages as { id: string; parts: { url?: string }[] }[]
      return message?.parts[0]?.url ?? ''
    },
  },
]

interface Measured {
  readonly before: number
  readonly growth: number
  readonly laterGrowth: number
  readonly held: number
  readonly health: number
}

/**
 * Runs `inspect` in a new program, after some clients have read everything. `inspect` calls `come` to connect clients
 * that read nothing.
 */
async function within<Seen>(
  { clients, prepare }: Case,
  inspect: (program: Program, come: (from: number, to: number) => Promise<void>) => Promise<Seen>,
): Promise<Seen> {
  const program = await start()
  const sockets: Socket[] = []
  try {
    const path = (await prepare(program.url)).replace(/^(?!\/)/, '/')
    const paths = Array.from({ length: clients }, (_, client) => path.replace('{client}', String(client)))
    // First, some clients read everything. Memory that remains in use after them is not caused by the later clients.
    await Promise.all(paths.slice(0, READERS).map(async (one) => (await fetch(`${program.url}${one}`)).arrayBuffer()))
    await sleep(1_000)
    return await inspect(program, async (from, to) => {
      sockets.push(...(await Promise.all(paths.slice(from, to).map(async (one) => ask(program.url, one)))))
    })
  } finally {
    for (const socket of sockets) socket.destroy()
    await program.stop()
  }
}

async function measure(one: Case): Promise<Measured> {
  // Garbage collection is not forced, because the program would only allocate the released memory once more.
  const half = Math.floor(one.clients / 2)
  const { before, between, most, health } = await within(one, async ({ pid, url }, come) => {
    const memoryBefore = memory(pid)
    let largest = memoryBefore
    const watching = setInterval(() => (largest = Math.max(largest, memory(pid))), 100)
    await come(0, half)
    const slowest = await slowestHealth(url)
    const withHalf = largest
    await come(half, one.clients)
    const slowestOfAll = Math.max(slowest, await slowestHealth(url))
    clearInterval(watching)
    return { before: memoryBefore, between: withHalf, most: largest, health: slowestOfAll }
  })
  const held = await within(one, async (program, come) => {
    const heldBefore = await program.held()
    await come(0, one.clients)
    await sleep(SETTLE_MS)
    return (await program.held()) - heldBefore
  })
  const growth = (most - before) / one.clients
  return { before, growth, laterGrowth: (most - between) / (one.clients - half), held: held / one.clients, health }
}

const option = (name: string): string | undefined =>
  process.argv.includes(name) ? process.argv[process.argv.indexOf(name) + 1] : undefined
const runs = Number(option('--runs') ?? 3)
const clients = option('--clients')

async function row(one: Case): Promise<readonly (string | number)[]> {
  const measured: Measured[] = []
  while (measured.length < runs) measured.push(await measure(one))
  const range = (of: (run: Measured) => number): string => {
    const values = measured.map((run) => Math.round(of(run)))
    return `${Math.min(...values)}–${Math.max(...values)}`
  }
  return [
    `${one.clients} unread: ${one.name}`,
    range(({ before }) => before / 2 ** 20),
    range(({ growth }) => growth / 1024),
    range(({ laterGrowth }) => laterGrowth / 1024),
    range(({ held }) => held / 1024),
    range(({ health }) => health),
  ]
}

const rows: (readonly (string | number)[])[] = []
for (const one of CASES)
  if (one.name.includes(option('--only') ?? ''))
    rows.push(await row({ ...one, clients: clients === undefined ? one.clients : Number(clients) }))
printTable(
  `Clients that read nothing (${runs} runs)`,
  [
    '',
    'MB before',
    'KB of memory more a client, at most',
    'of the second half',
    'KB held a client',
    'slowest health, ms',
  ],
  rows,
)
