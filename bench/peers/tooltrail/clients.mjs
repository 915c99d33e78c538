// Starts concurrent callers that wait for turns of the demo model, or stream them (--sse), for --seconds. Starts the
// program in the folder of TOOLTRAIL (or --root), with a new data folder. Prints turns per second, and p50 and p99 of a
// turn in milliseconds. Also prints the program's processor time and written bytes per turn.
// WARM=1: each caller connects before the measurement. Otherwise, connecting takes most of p99, because Node accepts
// one connection per tick of its event loop.
// HIST=1: prints first and later turns separately.
// --prof FOLDER: writes a CPU profile of the program.
import { spawn } from 'node:child_process'
import fs from 'node:fs'
import http from 'node:http'
import os from 'node:os'
import path from 'node:path'
import { parseArgs } from 'node:util'
const { values } = parseArgs({ options: { root: { type: 'string', default: (process.env.TOOLTRAIL ?? path.resolve(import.meta.dirname, '../../..')) }, clients: { type: 'string', default: '400' }, seconds: { type: 'string', default: '20' }, sse: { type: 'boolean' }, prof: { type: 'string' }, text: { type: 'string', default: 'hello' }, data: { type: 'string', default: fs.mkdtempSync(path.join(os.tmpdir(), 'tooltrail-clients-')) } } })
fs.rmSync(values.data, { recursive: true, force: true })
const flags = values.prof ? ['--cpu-prof', `--cpu-prof-dir=${values.prof}`] : []
const child = spawn(process.execPath, [...flags, '--import', './scripts/require-node.mjs', '--max-semi-space-size=8', 'functions/handlers/local.ts'], { cwd: values.root, stdio: ['ignore', 'pipe', 'inherit'], env: { ...process.env, PORT: '0', LOG_LEVEL: 'error', TOOLTRAIL_DATA: values.data, MODEL: 'demo/demo' } })
process.once('exit', () => child.kill('SIGKILL'))
const url = await new Promise((r) => { let t = ''; child.stdout.on('data', (p) => { t += p; const m = /http:\/\/[\d.]+:\d+/.exec(t); if (m) r(m[0]) }) })
const agent = new http.Agent({ keepAlive: true, maxSockets: 1000 })
const ask = (method, path, body, headers = {}, mine = agent) => new Promise((resolve, reject) => {
  const text = body && JSON.stringify(body)
  const q = http.request(url + '/v1' + path, { method, agent: mine, headers: { 'content-type': 'application/json', ...(text && { 'content-length': Buffer.byteLength(text) }), ...headers } }, (s) => { const ch = []; s.on('data', (c) => ch.push(c)); s.on('end', () => resolve({ status: s.statusCode, text: Buffer.concat(ch).toString() })) })
  q.on('error', reject); q.end(text)
})
const cpu = () => { const f = fs.readFileSync(`/proc/${child.pid}/stat`, 'utf8').replace(/^.*\)/s, '').trim().split(' '); return (Number(f[11]) + Number(f[12])) / 100 }
const threads = () => Object.fromEntries(fs.readdirSync(`/proc/${child.pid}/task`).map((t) => { const m = /\((.*)\) (.*)/su.exec(fs.readFileSync(`/proc/${child.pid}/task/${t}/stat`, 'utf8')); const f = m[2].split(' '); return [`${m[1]}-${t}`, (Number(f[11]) + Number(f[12])) / 100] }))
const n = Number(values.clients)
const sessions = []
for (let i = 0; i < n; i += 20) sessions.push(...(await Promise.all(Array.from({ length: Math.min(20, n - i) }, async () => JSON.parse((await ask('POST', '/sessions', {})).text).id))))
const own = sessions.map(() => new http.Agent({ keepAlive: true, maxSockets: 1, timeout: 60000 }))
if (process.env.WARM) await Promise.all(sessions.map((s, i) => ask('GET', `/sessions/${s}`, undefined, {}, own[i])))
const io = () => Number(/write_bytes: (\d+)/.exec(fs.readFileSync(`/proc/${child.pid}/io`, 'utf8'))[1])
const [before, t0, wrote, th0] = [cpu(), performance.now(), io(), threads()]
const times = []; const bad = {}
const end = t0 + Number(values.seconds) * 1000
await Promise.all(sessions.map(async (s, i) => {
  while (performance.now() < end) {
    const b = performance.now()
    const { status, text } = await ask('POST', `/sessions/${s}/messages`, { content: values.text }, values.sse ? { accept: 'text/event-stream' } : {}, process.env.WARM ? own[i] : agent)
    if (status !== 200 || (values.sse ? !text.includes('run.completed') : !text.includes('"completed"'))) bad[status] = (bad[status] ?? 0) + 1
    times.push(performance.now() - b); if (process.env.HIST) (globalThis.h ??= []).push([Math.round(b - t0), Math.round(performance.now() - b)])
  }
}))
const seconds = (performance.now() - t0) / 1000
const used = cpu() - before
const q = (s) => Math.round(times.toSorted((a, b) => a - b)[Math.min(times.length - 1, Math.floor(times.length * s))])
const th1 = threads()
console.log(JSON.stringify({ mode: values.sse ? 'sse' : 'wait', clients: n, turns: times.length, turns_s: +(times.length / seconds).toFixed(1), p50: q(.5), p99: q(.99), cpu_s: +used.toFixed(2), cpu_ms_turn: +(used * 1000 / times.length).toFixed(2), share_of_a_core: +(used / seconds).toFixed(2), client_cpu_ms_turn: +(((c) => (c.user + c.system) / 1000)(process.cpuUsage()) / times.length).toFixed(2), written_kb_turn: +((io() - wrote) / 1024 / times.length).toFixed(1), rss_mb: Math.round(Number(/VmHWM:\s+(\d+)/.exec(fs.readFileSync(`/proc/${child.pid}/status`, 'utf8'))[1]) / 1024), bad, load: os.loadavg()[0].toFixed(1), threads: Object.entries(th1).map(([k, v]) => [k, +(v - (th0[k] ?? 0)).toFixed(2)]).filter(([, v]) => v > 0.3) }))
if (process.env.HIST) { const by = (f) => { const a = h.filter(f).map((x) => x[1]).sort((x, y) => x - y); return [a.length, a[a.length >> 1], a[Math.floor(a.length * .9)], a.at(-1)] }; console.log('first', by((x) => x[0] < 200), 'later', by((x) => x[0] >= 200), 'buckets', [0, 100, 300, 1000, 3000, 5000, 10000, 20000].map((lo, i, all) => h.filter((x) => x[1] >= lo && x[1] < (all[i + 1] ?? 1e9)).length)) }
child.kill('SIGTERM'); await new Promise((r) => child.once('exit', r))
fs.rmSync(values.data, { recursive: true, force: true })
process.exit()
