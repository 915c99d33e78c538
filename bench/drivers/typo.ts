import { createSystemClock } from '../../functions/adapters/memory/system-clock.ts'
import { openDatabase } from '../../functions/adapters/sqlite/database.ts'
import { createSqliteHistoryIndex } from '../../functions/adapters/sqlite/history/search/history-index.ts'
import { makeHistory } from '../made/history-events.ts'
import { Session } from 'node:inspector'
import sqlite from 'node:sqlite'
import { writeFileSync } from 'node:fs'
const [path = '', n = '', prof] = process.argv.slice(2)
const database = openDatabase(path); database.exec('PRAGMA cache_size = -16384')
const made = makeHistory(Number(n)); for (const _ of made.batches(500)) { /* creates the queries */ }
const queries = made.queries()
const { search } = createSqliteHistoryIndex({ database, history: { merge: async () => undefined } as never, clock: createSystemClock() })
const stats = new Map<string, [number, number, number]>(); let on = false
const text = new WeakMap<object, string>(); const P = sqlite.DatabaseSync.prototype as any
const prepare = P.prepare; P.prepare = function (sql: string) { const s = prepare.call(this, sql); text.set(s, sql.replace(/\s+/g, ' ').slice(0, 170)); return s }
const S = Object.getPrototypeOf(prepare.call(database, 'select 1'))
for (const m of ['get', 'all', 'iterate']) { const f = S[m]; S[m] = function (...a: unknown[]) { const b = performance.now(); try { return f.apply(this, a) } finally { if (on) { const ms = performance.now() - b; const k = m + ' ' + text.get(this); const c = stats.get(k) ?? [0, 0, 0]; c[0]++; c[1] += ms; c[2] = Math.max(c[2], ms); stats.set(k, c); cur.push([k, ms, String(a.slice(0, 2).join(' ')).slice(0, 120)]) } } } }
let cur: [string, number, string][] = []
const kinds = new Map<string, number[]>()
for (const { kind, text: q } of queries.slice(0, 60)) await search({ scope: { tenant: 'bench' }, text: q, filters: {}, limit: 10 }) // warm-up
const session = new Session(); session.connect(); if (prof) { session.post('Profiler.enable'); session.post('Profiler.setSamplingInterval', { interval: 500 }); session.post('Profiler.start') }
on = true
const slow: any[] = []
for (const { kind, text: q } of queries.filter((x) => x.kind === 'typo')) { cur = []; const c0 = process.cpuUsage(), b = performance.now(); await search({ scope: { tenant: 'bench' }, text: q, filters: {}, limit: 10 }); const ms = performance.now() - b, c = process.cpuUsage(c0); slow.push([ms, (c.user + c.system) / 1000, q, cur.toSorted((x, y) => y[1] - x[1]).slice(0, 5)]); const a = kinds.get(kind) ?? []; a.push((c.user + c.system) / 1000); kinds.set(kind, a) }
on = false
if (prof) session.post('Profiler.stop', (_e: unknown, r: any) => writeFileSync(prof, JSON.stringify(r.profile)))
const q = (a: number[], p: number) => a.toSorted((x, y) => x - y)[Math.min(a.length - 1, Math.floor(a.length * p))]
for (const [k, a] of kinds) console.log(k, a.length, 'cpu ms p50', q(a, 0.5)?.toFixed(1), 'p95', q(a, 0.95)?.toFixed(1), 'p99', q(a, 0.99)?.toFixed(1), 'max', Math.max(...a).toFixed(1))
const n0 = slow.length; console.log('by statement, ms a query'); for (const [k, [c, ms, max]] of [...stats].sort((x, y) => y[1][1] - x[1][1]).slice(0, 10)) console.log((c / n0).toFixed(1), (ms / n0).toFixed(2), 'max', max.toFixed(0), k)
console.log('slowest'); for (const [ms, cpu, t, top] of slow.sort((x, y) => y[0] - x[0]).slice(0, 5)) console.log(ms.toFixed(0), cpu.toFixed(0), t, JSON.stringify(top.map((x: any) => [x[1].toFixed(0), x[0].slice(0, 90), x[2]])))
process.exit()
