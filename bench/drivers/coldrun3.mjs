import { execFileSync } from 'node:child_process'
import fs from 'node:fs'
import os from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
const esbuild = await import((process.env.TOOLTRAIL ?? join(import.meta.dirname, '../..')) + '/node_modules/esbuild/lib/main.js')
const ROOT = (process.env.TOOLTRAIL ?? join(import.meta.dirname, '../..')), W = process.env.OUT
const V = { PATH: process.env.PATH, AWS_REGION: 'eu-central-1', AWS_ACCESS_KEY_ID: 'local', AWS_SECRET_ACCESS_KEY: 'local', TOOLTRAIL_ENVIRONMENT: 'bench', TOOLTRAIL_TABLE: 'bench', TOOLTRAIL_BUCKET: 'bench', TOOLTRAIL_QUEUE_URL: 'https://sqs.eu-central-1.amazonaws.com/1/runs', TOOLTRAIL_POISON_URL: 'https://sqs.eu-central-1.amazonaws.com/1/poison', TOOLTRAIL_FAILURES_BUCKET: 'bench', TOOLTRAIL_AGENTS: './agents.json', TOOLTRAIL_MODEL_SECRET: 'bench', TOOLTRAIL_STOP_MARGIN_SECONDS: '300', OPENSEARCH_ENDPOINT: 'https://bench.aoss.eu-central-1.on.aws' }
fs.writeFileSync(join(W, 'measure.mjs'), `const c0 = process.cpuUsage(), b = performance.now(); const { handler } = await import(process.argv[2]); if (typeof handler !== 'function') throw 1; const w = performance.now() - b, c = process.cpuUsage(c0); console.log(w + ' ' + (c.user + c.system) / 1000); if (process.env.FLUSH) (await import('node:module')).flushCompileCache(); process.exit()`)
const opts = { bundle: true, splitting: true, minify: true, format: 'esm', platform: 'node', target: 'node24', mainFields: ['module', 'main'], conditions: ['module'], outExtension: { '.js': '.mjs' } }
const src = (name, contents) => { esbuild.buildSync({ ...opts, stdin: { contents, resolveDir: ROOT }, outdir: join(W, name) }); return { name, folder: join(W, name), entry: 'stdin.mjs' } }
const S = [src('hono', `import { Hono } from 'hono'\nimport { handle } from 'hono/aws-lambda'\nexport const handler = handle(new Hono().get('/', (c) => c.text('fine')))`),
  src('ref', `import { DynamoDBClient, GetItemCommand } from '@aws-sdk/client-dynamodb'\nimport { Hono } from 'hono'\nimport { handle } from 'hono/aws-lambda'\nconst client = new DynamoDBClient({})\nconst read = () => client.send(new GetItemCommand({ TableName: 't', Key: { pk: { S: 'a' } } }))\nexport const handler = handle(new Hono().get('/', async (c) => c.json(await read())))`)]
const one = async (name, from) => { const folder = join(W, name); fs.rmSync(folder, { recursive: true, force: true }); await esbuild.build({ entryPoints: [join(from, 'index.mjs')], outdir: folder, bundle: true, minify: true, format: 'esm', platform: 'node', target: 'node24', outExtension: { '.js': '.mjs' }, logLevel: 'error', plugins: [{ name: 'x', setup({ onResolve }) { onResolve({ filter: /.*/ }, ({ kind, path }) => kind === 'dynamic-import' ? { path, external: true } : undefined) } }] }); fs.writeFileSync(join(folder, 'agents.json'), '{"agents":{}}'); return { name, folder, entry: 'index.mjs' } }

const base = (h) => ({ name: h, folder: join(W, h), entry: 'index.mjs' })
S.push(base('api'), await one('api.one', join(W, 'api')), await one('apiNF.one', join(W, 'apiNF')), await one('worker.one', join(W, 'worker')), await one('indexer.one', join(W, 'indexer')), await one('sweeperZ.one', join(W, 'sweeperC')))
const cc = (s) => ({ ...s, t: undefined, name: s.name + '+cc', env: { ...s.env, NODE_COMPILE_CACHE: join(W, 'cc-' + s.name) } })
const semi = (s) => ({ ...s, t: undefined, name: s.name + '+semi', env: { ...s.env, NODE_OPTIONS: '--min-semi-space-size=16 --max-semi-space-size=16' } })
const ones = S.filter((s) => /one$/.test(s.name))
const all = [...S, ...ones.map(cc), cc(S.find((s) => s.name === 'ref')), cc(S.find((s) => s.name === 'api'))]
const N = Number(process.env.N ?? 12)
for (let i = 0; i <= N; i++) for (const s of all) { s.t ??= []; const o = execFileSync(process.execPath, [join(W, 'measure.mjs'), pathToFileURL(join(s.folder, s.entry)).href], { env: { ...V, LAMBDA_TASK_ROOT: s.folder, ...s.env, ...(i === 0 && s.env ? { FLUSH: '1' } : {}) }, encoding: 'utf8' }); if (i > 0) s.t.push(o.trim().split(' ').map(Number)) }
const med = (a) => a.toSorted((x, y) => x - y)[a.length >> 1]
const ref = all.find((s) => s.name === 'ref'), rw = med(ref.t.map((x) => x[0])), rc = med(ref.t.map((x) => x[1]))
for (const s of all) { const w = med(s.t.map((x) => x[0])), c = med(s.t.map((x) => x[1])); console.log(s.name.padEnd(22), 'wall', w.toFixed(1).padStart(7), (w / rw).toFixed(2) + 'x', ' cpu', c.toFixed(1).padStart(7), (c / rc).toFixed(2) + 'x', 'eager-files-bytes', fs.statSync(join(s.folder, s.entry)).size) }
console.log('load', os.loadavg().map((x) => x.toFixed(2)).join(' '))
