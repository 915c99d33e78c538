// Usage: node turn.mjs VARIANT… Each variant is name=key:value,key:value. `kind` is tt (Tooltrail) or floor.
import { spawn } from 'node:child_process'
import fs from 'node:fs'
import http from 'node:http'
import os from 'node:os'
import path from 'node:path'
const T = (process.env.TOOLTRAIL ?? path.resolve(import.meta.dirname, '../..'))
const BLOCKS = Number(process.env.BLOCKS ?? 6), PER = Number(process.env.PER ?? 20), WARM = Number(process.env.WARMUP ?? 40)
const children = []
process.once('exit', () => children.forEach((c) => c.kill('SIGKILL')))
const begin = (args, env, cwd) => new Promise((r) => { const c = spawn(process.execPath, args, { cwd, env: { ...process.env, ...env }, stdio: ['ignore', 'pipe', 'inherit'] }); children.push(c); let t = ''; c.stdout.on('data', (p) => { t += p; const m = /http:\/\/[\d.]+:\d+/.exec(t); if (m) r({ child: c, url: m[0] }) }) })
const model = await begin([path.join(import.meta.dirname, 'model.mjs')])
async function open(name, opt) {
  const data = fs.mkdtempSync(path.join(os.tmpdir(), 'perfx-'))
  const root = opt.root ?? T
  const agents = path.join(data, 'agents.json')
  fs.writeFileSync(agents, JSON.stringify({ agents: { default: { tools: ['work'] } } }))
  const prof = opt.prof ? ['--cpu-prof', `--cpu-prof-interval=${opt.interval ?? 500}`, `--cpu-prof-dir=${opt.prof}`] : []
  const env = { TOOLTRAIL: root, ...(opt.env ? Object.fromEntries(opt.env.split(';').map((x) => x.split('~'))) : {}), PORT: '0', LOG_LEVEL: opt.log ?? 'error', TOOLTRAIL_DATA: data, TOOLTRAIL_AGENTS: agents, TOOLTRAIL_TOOLS: path.join(import.meta.dirname, 'tools.ts'), MODEL: 'scripted', MODEL_BASE_URL: model.url + '/v1', MODEL_API_KEY: 'x', ...(opt.demo ? { MODEL: 'demo/demo' } : {}), ...(opt.calls && { CALLS: opt.calls }), ...(opt.commits && { COMMITS: opt.commits }) }
  const args = opt.kind === 'floor' ? [...prof, path.join(import.meta.dirname, 'floor.mjs')] : [...prof, '--import', './scripts/require-node.mjs', `--max-semi-space-size=${opt.semi ?? 8}`, ...(opt.flags ? opt.flags.split(';') : []), ...(opt.pre ? ['--import', opt.pre] : []), 'functions/handlers/local.ts']
  const { child, url } = await begin(args, env, root)
  const agent = new http.Agent({ keepAlive: true, maxSockets: 4 })
  const ask = (p, body, headers = {}) => new Promise((resolve, reject) => { const text = JSON.stringify(body); const q = http.request(url + '/v1' + p, { method: 'POST', agent, headers: { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text), ...headers } }, (s) => { const ch = []; s.on('data', (c) => ch.push(c)); s.on('end', () => resolve({ status: s.statusCode, text: Buffer.concat(ch).toString() })) }); q.on('error', reject); q.end(text) })
  let session, used = 99
  const headers = opt.sse ? { accept: 'text/event-stream' } : {}
  return { name, opt, child, async turn() {
    if (used >= Number(opt.len ?? 20)) { session = JSON.parse((await ask('/sessions', {})).text).id; used = 0 }
    used++
    const b = performance.now()
    const { status, text } = await ask(`/sessions/${session}/messages`, { content: 'please do the work number ' + Math.random() + ' and tell me what came of it ' + 'word '.repeat(20) }, headers)
    if (status !== 200 || !(opt.sse ? text.includes('run.completed') : text.includes('completed'))) throw new Error(name + ' ' + status + text.slice(0, 300))
    return performance.now() - b
  }, cpu() {
    const out = {}
    for (const t of fs.readdirSync(`/proc/${child.pid}/task`)) { try { const nm = fs.readFileSync(`/proc/${child.pid}/task/${t}/comm`, 'utf8').trim() + (t === String(child.pid) ? ' main' : ''); out[t + ' ' + nm] = Number(fs.readFileSync(`/proc/${child.pid}/task/${t}/schedstat`, 'utf8').split(' ')[0]) / 1e6 } catch {} }
    return out
  }, io() { const t = fs.readFileSync(`/proc/${child.pid}/io`, 'utf8'); return { w: Number(/write_bytes: (\d+)/.exec(t)[1]), sysw: Number(/syscw: (\d+)/.exec(t)[1]), sysr: Number(/syscr: (\d+)/.exec(t)[1]) } }, async close() { child.kill('SIGTERM'); await new Promise((r) => child.once('exit', r)); fs.rmSync(data, { recursive: true, force: true }) } }
}
const perfs = []
const variants = []
for (const a of process.argv.slice(2)) { const [name, o = ''] = a.split('='); variants.push(await open(name, Object.fromEntries(o.split(',').filter(Boolean).map((x) => { const i = x.indexOf(':'); return i < 0 ? [x, '1'] : [x.slice(0, i), x.slice(i + 1)] })))) }
for (const v of variants) { v.r = []; for (let i = 0; i < WARM; i++) await v.turn() }
for (const v of variants) if (v.opt.pre) { v.child.kill('SIGUSR2') }
for (const v of variants) if (v.opt.strace) perfs.push(spawn('strace', ['-f', '-ttt', '-e', 'trace=pwrite64,fsync,fdatasync,pread64', '-s', '0', '-o', v.opt.strace, '-p', String(v.child.pid)], { stdio: 'ignore' }))
for (const v of variants) if (v.opt.perf) perfs.push(spawn('perf', ['record', '-F', '2999', '-o', v.opt.perf, '-p', String(v.child.pid)], { stdio: ['ignore', 'ignore', 'ignore'] }))
await new Promise((r) => setTimeout(r, 300))
for (let b = 0; b < BLOCKS; b++) for (const v of variants) {
  const [c0, i0] = [v.cpu(), v.io()], walls = []
  for (let i = 0; i < PER; i++) walls.push(await v.turn())
  await new Promise((r) => setTimeout(r, 400)) // includes late indexing
  const [c1, i1] = [v.cpu(), v.io()]
  const d = Object.entries(c1).map(([k, x]) => [k, (x - (c0[k] ?? 0)) / PER]).filter(([, x]) => x > 0.02)
  v.r.push({ walls, total: d.reduce((s, [, x]) => s + x, 0), main: d.filter(([k]) => k.endsWith(' main')).reduce((s, [, x]) => s + x, 0), d, kb: (i1.w - i0.w) / 1024 / PER, sysw: (i1.sysw - i0.sysw) / PER })
}
for (const v of variants) if (v.opt.pre) { v.child.kill('SIGUSR2') }
await new Promise((r) => setTimeout(r, 1500))
perfs.forEach((p) => p.kill('SIGINT'))
const med = (a) => a.toSorted((x, y) => x - y)[a.length >> 1]
for (const v of variants) {
  const w = v.r.flatMap((x) => x.walls)
  const keys = {}
  for (const x of v.r) for (const [k, y] of x.d) (keys[k] ??= []).push(y)
  console.log(JSON.stringify({ name: v.name, turns: w.length, wall_p50: +med(w).toFixed(1), wall_min: +Math.min(...w).toFixed(1), cpu_ms: +med(v.r.map((x) => x.total)).toFixed(2), cpu_min: +Math.min(...v.r.map((x) => x.total)).toFixed(2), main_ms: +med(v.r.map((x) => x.main)).toFixed(2), kb: +med(v.r.map((x) => x.kb)).toFixed(0), sysw: +med(v.r.map((x) => x.sysw)).toFixed(1), load: os.loadavg()[0].toFixed(2), threads: Object.fromEntries(Object.entries(keys).map(([k, a]) => [k, +(a.reduce((s, x) => s + x, 0) / v.r.length).toFixed(2)]).filter(([, x]) => x > 0.1)) }))
}
for (const v of variants) await v.close()
process.exit()
