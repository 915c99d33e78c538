import { execFileSync } from 'node:child_process'
import fs from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
const esbuild = await import((process.env.TOOLTRAIL ?? join(import.meta.dirname, '../..')) + '/node_modules/esbuild/lib/main.js')
const ROOT = (process.env.TOOLTRAIL ?? join(import.meta.dirname, '../..')), W = process.env.OUT
const V = { PATH: process.env.PATH, AWS_REGION: 'eu-central-1', AWS_ACCESS_KEY_ID: 'local', AWS_SECRET_ACCESS_KEY: 'local', TOOLTRAIL_ENVIRONMENT: 'bench', TOOLTRAIL_TABLE: 'bench', TOOLTRAIL_BUCKET: 'bench', TOOLTRAIL_QUEUE_URL: 'https://sqs.eu-central-1.amazonaws.com/1/runs', TOOLTRAIL_POISON_URL: 'https://sqs.eu-central-1.amazonaws.com/1/poison', TOOLTRAIL_FAILURES_BUCKET: 'bench', TOOLTRAIL_AGENTS: './agents.json', TOOLTRAIL_MODEL_SECRET: 'bench', TOOLTRAIL_STOP_MARGIN_SECONDS: '300', OPENSEARCH_ENDPOINT: 'https://bench.aoss.eu-central-1.on.aws' }
const oneLocale = { name: 'x', setup({ onLoad }) { onLoad({ filter: /zod\/v4\/locales\/index\.js$/ }, () => ({ contents: `export { default as en } from './en.js'` })) } }
for (const h of process.argv.slice(2)) {
  const folder = join(W, h); fs.rmSync(folder, { recursive: true, force: true })
  await esbuild.build({ absWorkingDir: ROOT, entryPoints: { index: `${ROOT}/functions/handlers/${h}.ts` }, outdir: folder, bundle: true, splitting: true, format: 'esm', platform: 'node', target: 'node24', mainFields: ['module', 'main'], conditions: ['module'], outExtension: { '.js': '.mjs' }, chunkNames: 'chunks/[name]-[hash]', banner: { js: `import{createRequire as __createRequire}from'node:module';const require=__createRequire(import.meta.url);` }, legalComments: 'none', logLevel: 'error', plugins: [oneLocale] })
  fs.writeFileSync(join(folder, 'agents.json'), '{"agents":{}}')
  const sumSelf = new Map(), sumCum = new Map(), fns = new Map(); let total = 0; const RUNS = 8
  for (let r = 0; r < RUNS; r++) {
    const pd = join(folder, 'prof'); fs.rmSync(pd, { recursive: true, force: true })
    fs.writeFileSync(join(W, 'm.mjs'), `await import(process.argv[2]); process.exit()`)
    execFileSync(process.execPath, ['--cpu-prof', '--cpu-prof-interval=100', `--cpu-prof-dir=${pd}`, join(W, 'm.mjs'), pathToFileURL(join(folder, 'index.mjs')).href], { env: { ...V, LAMBDA_TASK_ROOT: folder } })
    const p = JSON.parse(fs.readFileSync(join(pd, fs.readdirSync(pd)[0])))
    const maps = new Map()
    const modOf = (url, line) => { if (!url.includes('/plain/')) return url.startsWith('node:') ? 'node:' + url.slice(5).split('/').slice(0, 3).join('/') : url || ''
      const f = url.replace('file://', ''); if (!maps.has(f)) { const out = []; let cur = ''; for (const l of fs.readFileSync(f, 'utf8').split('\n')) { const m = /^\s*\/\/ ((?:node_modules|functions|package)[^ ]*)$/.exec(l); if (m) cur = m[1]; out.push(cur) } maps.set(f, out) }
      return maps.get(f)[line] || 'bundle glue' }
    const glue = globalThis.glue ??= new Map(); 
    const pk = (m) => /.*node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(m)?.[1] ?? (m.startsWith('functions') ? m.split('/').slice(0, 3).join('/') : m)
    const byId = new Map(p.nodes.map((n) => [n.id, n])); for (const n of p.nodes) for (const c of n.children ?? []) byId.get(c).parent = n
    let started = false
    for (const n of p.nodes) if (n.callFrame.url.includes('/plain/') && n.positionTicks && n.callFrame.lineNumber < 2) { const per = (p.endTime - p.startTime) / p.samples.length; for (const t of n.positionTicks) { const k = h + ' line of ' + pk(modOf(n.callFrame.url, t.line - 1)); glue.set(k, (glue.get(k) ?? 0) + t.ticks * per) } }
    for (let i = 0; i < p.samples.length; i++) { const n = byId.get(p.samples[i]), d = p.timeDeltas[i]
      let inB = false; const seen = new Set(); let x = n, top
      const chain = []; for (; x; x = x.parent) chain.push(x)
      if (!chain.some((c) => c.callFrame.url.includes('/plain/'))) { if (n.callFrame.functionName !== '(idle)' && started) { const k = n.callFrame.functionName.startsWith('(') ? n.callFrame.functionName : 'node loader/compile (' + (pk(modOf(n.callFrame.url, n.callFrame.lineNumber)) || n.callFrame.functionName) + ')'; sumSelf.set(k, (sumSelf.get(k) ?? 0) + d); total += d } continue }
      started = true; total += d
      const first = chain.find((c) => c.callFrame.url.includes('/plain/')); const m = modOf(first.callFrame.url, first.callFrame.lineNumber)
      if (m === 'bundle glue') {
        const i = chain.indexOf(first)
        const k = i === 0 ? 'top-level code itself' : 'native/node under top level: ' + (chain.slice(0, i).find((c) => /compileForInternalLoader|requireBuiltin/.test(c.callFrame.functionName)) ? 'loading node builtins' : chain[i - 1].callFrame.functionName + ' ' + chain[i - 1].callFrame.url)
        glue.set(h + ' ' + k, (glue.get(h + ' ' + k) ?? 0) + d)
        if (i === 0) for (const t of first.positionTicks ?? []) {}
      }
      sumSelf.set(pk(m), (sumSelf.get(pk(m)) ?? 0) + d)
      for (const c of chain) { if (!c.callFrame.url.includes('/plain/')) continue; const mm = modOf(c.callFrame.url, c.callFrame.lineNumber); const own = mm.startsWith('functions') ? mm : pk(mm); if (!seen.has(own)) { seen.add(own); sumCum.set(own, (sumCum.get(own) ?? 0) + d) } }
    }
  }
  const show = (m, k) => [...m].sort((a, b) => b[1] - a[1]).slice(0, k).map(([a, d]) => `${(d / 1000 / RUNS).toFixed(1)} ${a}`).join(' | ')
  console.log('glue', show(new Map([...glue].filter(([k]) => k.startsWith(h + ' '))), 24))
  console.log(`\n${h}: ${(total / 1000 / RUNS).toFixed(1)} ms from first module on\nself: ${show(sumSelf, 30)}\ncum: ${show(sumCum, 55)}`)
}
