// Runs every contender on equal work, one after the other, and prints one table per backend. Results also go to
// results.jsonl.
//
// node run.mjs [--install] [--only NAME,…] [--cases turns,kill,writers,big,remove]
// [--marks 1,10,50,100,200,1000] [--seconds 75] [--out FOLDER] [--python FOLDER of virtual environments]
// [--print] [--page]
//
// Node 24 or newer, after npm ci at the root. TOOLTRAIL names another checkout.
// --install runs `npm install` in each folder with a package.json, and makes a virtual environment for each
// requirements.txt.
//
// --print: runs nothing, and prints the tables of the newest results. --page: prints these tables too, and writes
// them between the markers of docs/reference/compare.md.
//
// Tooltrail's loop does 50 turns before and after each contender's turns. `ref` is the duration of these 50 turns
// in milliseconds. It shows when the machine was busy.
// `cpu` is the mean processor time of the turns since the last mark. Other load on the machine affects it less.
//
// LANGGRAPH_NODE: another Node for LangGraph.js, whose better-sqlite3 12.11.1 makes Node 24.21 fail with an assertion
// after some turns.
import { execFileSync, spawn, spawnSync } from 'node:child_process'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { parseArgs } from 'node:util'

const { values } = parseArgs({ options: { install: { type: 'boolean' }, only: { type: 'string' }, cases: { type: 'string', default: 'turns,kill,writers,big,remove' }, marks: { type: 'string', default: '1,10,50,100,200,1000' }, seconds: { type: 'string', default: '75' }, out: { type: 'string', default: 'out' }, python: { type: 'string', default: 'venvs' }, print: { type: 'boolean' }, page: { type: 'boolean' } } })
const here = import.meta.dirname
const root = (process.env.TOOLTRAIL ?? path.resolve(import.meta.dirname, '../..'))
const js = (folder, mode, name, node = process.execPath) => ({ name, folder, command: [node, path.join(here, folder)], mode })
const py = (folder, mode, name) => ({ name, folder, command: [path.resolve(values.python, folder, 'bin/python'), path.join(here, folder, 'driver.py')], mode })
const SQLITE = [
  { ...js('tooltrail/loop.mjs', 'sqlite', 'Tooltrail, loop in process'), cases: ['turns'] },
  js('tooltrail/http.mjs', 'sqlite', 'Tooltrail, HTTP API'),
  js('langgraph-js/driver.mjs', 'full', 'LangGraph.js SqliteSaver', process.env.LANGGRAPH_NODE),
  js('langgraph-js/driver.mjs', 'delta', 'LangGraph.js DeltaChannel', process.env.LANGGRAPH_NODE),
  py('langgraph-py', 'full', 'LangGraph (Py) SqliteSaver'),
  py('langgraph-py', 'delta', 'LangGraph (Py) DeltaChannel'),
  js('mastra/driver.mjs', 'step', 'Mastra LibSQL, savePerStep'),
  js('mastra/driver.mjs', 'durable', 'Mastra LibSQL, durable agent'),
  js('strands-ts/driver.mjs', undefined, 'Strands (TS), files'),
  py('strands-py', undefined, 'Strands (Py), files'),
  py('openai-agents-py', undefined, 'OpenAI Agents (Py) SQLiteSession'),
  js('adk-js/driver.mjs', undefined, 'Google ADK (JS) SQLite'),
  py('adk-py', 'database', 'Google ADK (Py) Database'),
  py('adk-py', 'sqlite', 'Google ADK (Py) Sqlite'),
  py('agno-py', 'sqlite', 'Agno SqliteDb'),
  py('dbos-py', undefined, 'DBOS (Py) SQLite'),
].map((one) => ({ ...one, backend: 'sqlite' }))
const DYNAMODB = [
  { ...js('tooltrail/loop.mjs', 'dynamodb', 'Tooltrail, loop in process'), cases: ['turns'] },
  js('langgraph-js-dynamodb/driver.mjs', undefined, 'LangGraph.js 0.2, rwai saver'),
  py('langgraph-py', 'dynamodb', 'LangGraph (Py), checkpoint-aws'),
  js('mastra/driver.mjs', 'dynamodb', 'Mastra DynamoDB'),
  py('agno-py', 'dynamodb', 'Agno DynamoDb'),
  { ...js('agent-squad/driver.mjs', undefined, 'agent-squad (texts only)'), cases: ['turns', 'writers', 'big'] },
].map((one) => ({ ...one, backend: 'dynamodb' }))
const wanted = values.only?.split(',')
const all = [...SQLITE, ...DYNAMODB].filter(({ name, backend, folder }) => wanted === undefined || wanted.some((one) => one === backend || name.includes(one) || folder.includes(one)))

if (values.install) {
  for (const entry of fs.readdirSync(here, { withFileTypes: true })) {
    const folder = path.join(here, entry.name)
    if (fs.existsSync(path.join(folder, 'package.json'))) spawnSync('npm', ['install', '--no-audit', '--no-fund'], { cwd: folder, stdio: 'inherit' })
    if (!fs.existsSync(path.join(folder, 'requirements.txt'))) continue
    const venv = path.resolve(values.python, entry.name)
    spawnSync('python3', ['-m', 'venv', venv], { stdio: 'inherit' })
    spawnSync(path.join(venv, 'bin/pip'), ['install', '-q', '-r', path.join(folder, 'requirements.txt')], { stdio: 'inherit' })
  }
}
const results = path.resolve(values.out, 'results.jsonl')
fs.mkdirSync(values.out, { recursive: true })
const versions = ({ folder, command }) => {
  try {
    if (folder.endsWith('.mjs')) return Object.entries(JSON.parse(fs.readFileSync(path.join(here, path.dirname(folder), 'package.json'), 'utf8')).dependencies).map(([name, version]) => `${name} ${version}`).join(', ')
    return fs.readFileSync(path.join(here, folder, 'requirements.txt'), 'utf8').trim().split('\n').join(', ')
  } catch { return `commit ${execFileSync('git', ['-C', root, 'rev-parse', '--short', 'HEAD'], { encoding: 'utf8' }).trim()}` }
}
const lines = (text) => text.split('\n').flatMap((line) => { try { return line.startsWith('{') ? [JSON.parse(line)] : [] } catch { return [] } })
function drive(one, words, seconds = 150) {
  return new Promise((resolve) => {
    const [program, ...rest] = one.command
    const child = spawn(program, [...rest, ...words, ...(one.mode ? ['--mode', one.mode] : []), ...(one.endpoint ? ['--endpoint', one.endpoint] : [])], { stdio: ['ignore', 'pipe', 'pipe'], env: { ...process.env, PYTHONWARNINGS: 'ignore', CHECKPOINT_NODE: process.execPath } })
    let [out, err] = ['', '']
    child.stdout.on('data', (piece) => (out += piece))
    child.stderr.on('data', (piece) => (err = (err + piece).slice(-3000)))
    const timer = setTimeout(() => child.kill('SIGKILL'), seconds * 1000)
    child.on('exit', (code, signal) => { clearTimeout(timer); resolve({ lines: lines(out), code, signal, err: lines(out).length === 0 ? err.trim().split('\n').slice(-3).join(' | ').slice(0, 300) : undefined }) })
  })
}
let counter = 0
const fresh = (one, what) => { const dir = path.resolve(values.out, 'data', `${one.folder.replace(/\W+/g, '-')}-${what}-${++counter}`); fs.rmSync(dir, { recursive: true, force: true }); fs.mkdirSync(dir, { recursive: true }); return dir }
async function startDynamo() {
  const port = 8200 + (++counter % 500)
  const child = spawn(process.execPath, [path.join(here, 'dynamo.mjs'), '--port', String(port), '--home', path.join(root, 'node_modules')], { stdio: ['ignore', 'pipe', 'inherit'] })
  await new Promise((resolve) => child.stdout.once('data', resolve))
  return { endpoint: `http://127.0.0.1:${port}`, stop: () => new Promise((resolve) => { child.once('exit', resolve); child.kill('SIGTERM') }) }
}
const reference = { ...SQLITE[0] }
async function referenceMs() {
  const dir = fresh(reference, 'ref')
  const { lines: [found] } = await drive(reference, ['turns', '--dir', dir, '--marks', '50'])
  fs.rmSync(dir, { recursive: true, force: true })
  return { ms: found?.ms, cpu: found?.cpu_ms }
}
const CASES = {
  async turns(one) {
    const dir = fresh(one, 'turns')
    const before = await referenceMs()
    const { lines: marks, err, signal } = await drive(one, ['turns', '--dir', dir, '--marks', values.marks, '--seconds', values.seconds], Number(values.seconds) + 120)
    const stored = one.endpoint && (await (await fetch(`${one.endpoint}/__bytes`)).json())
    const after = await referenceMs()
    fs.rmSync(dir, { recursive: true, force: true })
    return { marks, err, signal, ref_ms: [before.ms, after.ms], ref_cpu: [before.cpu, after.cpu], stored, load: os.loadavg()[0] }
  },
  async kill(one) {
    const dir = fresh(one, 'kill')
    const died = await drive(one, ['kill', '--dir', dir], 60)
    const { lines: [found], err } = await drive(one, ['after', '--dir', dir], 110)
    return { died: died.signal ?? died.code, died_err: died.err, ...found, err }
  },
  async writers(one) {
    const dir = fresh(one, 'writers')
    const both = ['a', 'b'].map((id) => drive(one, ['writer', '--dir', dir, '--id', id, '--count', '10'], 100))
    for (let wait = 0; wait < 300 && !['a', 'b'].every((id) => fs.existsSync(path.join(dir, `ready-${id}`))); wait++) await new Promise((resolve) => setTimeout(resolve, 100))
    fs.writeFileSync(path.join(dir, 'go'), '')
    const [a, b] = await Promise.all(both)
    const { lines: [found], err } = await drive(one, ['written', '--dir', dir], 60)
    return { failed: (a.lines[0]?.failed ?? 10) + (b.lines[0]?.failed ?? 10), error: a.lines[0]?.error ?? b.lines[0]?.error ?? a.err ?? b.err, ...found, err }
  },
  async big(one) { const { lines: [found], err } = await drive(one, ['big', '--dir', fresh(one, 'big')], 90); return { ...found, err } },
  async remove(one) { const { lines: [found], err } = await drive(one, ['remove', '--dir', fresh(one, 'remove')], 90); return { ...found, err } },
}
if (!values.print && !values.page)
  for (const one of all)
    for (const name of values.cases.split(',')) {
      if (one.cases !== undefined && !one.cases.includes(name)) continue
      // Each case starts a new engine. In an old one, the tables of earlier cases would slow it down.
      const engine = one.backend === 'dynamodb' ? await startDynamo() : undefined
      if (engine) one.endpoint = engine.endpoint
      const found = await CASES[name](one).catch((error) => ({ err: String(error) }))
      await engine?.stop()
      fs.appendFileSync(results, JSON.stringify({ at: new Date().toISOString(), name: one.name, backend: one.backend, case: name, versions: versions(one), ...found }) + '\n')
      console.error(`${new Date().toISOString().slice(11, 19)} ${one.backend} ${one.name}: ${name} ${JSON.stringify(found).slice(0, 300)}`)
    }

// The newest result of each contender and case.
const latest = new Map(lines(fs.readFileSync(results, 'utf8')).map((row) => [`${row.backend}/${row.name}/${row.case}`, row]))
const of = (one, name) => latest.get(`${one.backend}/${one.name}/${name}`)
const size = (bytes) => bytes === undefined ? '' : bytes >= 1e9 ? `${(bytes / 1e9).toFixed(1)} GB` : bytes >= 1e6 ? `${(bytes / 1e6).toFixed(1)} MB` : `${Math.round(bytes / 1e3)} KB`
const printed = []
const table = (title, header, rows) => { printed.push(`${title}\n\n| ${header.join(' | ')} |\n|${header.map(() => '---').join('|')}|\n${rows.map((row) => `| ${row.map((cell) => String(cell ?? '')).join(' | ')} |\n`).join('')}`) }
const marks = values.marks.split(',').map(Number)
const shown = (row, mark, what) => { const found = row?.marks?.find((m) => m.mark === mark); return found === undefined ? '–' : what(found) }
const end = (row) => { const bad = row?.marks?.find((m) => m.failed_at); const late = row?.marks?.find((m) => m.stopped); return bad ? `turn ${bad.failed_at}: ${bad.error.slice(0, 60)}` : late ? `turn ${late.mark} (bench's limit)` : row?.signal ? `ended by ${row.signal}` : row?.err ? row.err.slice(0, 60) : 'none' }
table('SQLite or files: milliseconds a turn (processor milliseconds)', ['', ...marks.map((m) => `turn ${m}`), 'reference then', 'peak MB', 'ends at'],
  SQLITE.map((one) => { const row = of(one, 'turns'); return [one.name, ...marks.map((m) => shown(row, m, (f) => `${f.ms} (${f.cpu_ms})`)), row?.ref_ms?.join(' / '), Math.max(...(row?.marks ?? []).map((m) => m.peak_mb ?? 0)), end(row)] }))
table('SQLite or files: bytes stored; milliseconds to load', ['', ...marks.map((m) => `turn ${m}`), 'load at 50', '200', '1000'],
  SQLITE.map((one) => { const row = of(one, 'turns'); return [one.name, ...marks.map((m) => shown(row, m, (f) => size(f.bytes))), ...[50, 200, 1000].map((m) => shown(row, m, (f) => f.load_ms))] }))
table('DynamoDB: requests, KB up, write units + read units a turn', ['', ...marks.map((m) => `turn ${m}`), 'ms at 10 / 200', 'ends at'],
  DYNAMODB.map((one) => { const row = of(one, 'turns'); return [one.name, ...marks.map((m) => shown(row, m, (f) => `${f.requests}, ${(f.up / 1e3).toFixed(0)} KB, ${f.write_units} + ${f.read_units}`)), [10, 200].map((m) => shown(row, m, (f) => f.ms)).join(' / '), end(row)] }))
for (const [title, list] of [['SQLite or files', SQLITE], ['DynamoDB', DYNAMODB]])
  table(`${title}: faults`, ['', 'killed in a tool: input kept', 'resumed', 'effects', 'next input', 'its request whole', 'two writers: failed of 20', 'inputs kept', 'torn', '420 KB output', 'next input', 'whole kept', 'deletion', 'left'],
    list.filter((one) => one.cases?.length !== 1).map((one) => { const [k, w, b, r] = ['kill', 'writers', 'big', 'remove'].map((name) => of(one, name)); return [one.name, k?.input_kept, k?.resumed?.slice(0, 50), k?.effects, k?.next_input?.slice(0, 60) ?? k?.err, k?.request_whole, w?.failed, w?.inputs, w?.torn ?? w?.err, b?.big?.slice(0, 60) ?? b?.err, b?.next_input?.slice(0, 40), b?.result_kept, r?.removed, r && JSON.stringify(r.left_in_table ?? r.left_on_disk)] }))
console.log(printed.join('\n'))
if (values.page) {
  const page = path.join(root, 'docs/reference/compare.md')
  const [begin, end] = ['<!-- measurements:begin -->\n', '<!-- measurements:end -->']
  const text = fs.readFileSync(page, 'utf8')
  const [from, to] = [text.indexOf(begin), text.indexOf(end)]
  if (from < 0 || to < from) throw new Error(`${page} lacks the markers ${begin.trim()} and ${end}`)
  fs.writeFileSync(page, text.slice(0, from + begin.length) + printed.join('\n') + text.slice(to))
}
