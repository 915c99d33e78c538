import { fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { printTable, quantile } from './report.ts'

/**
 * Measures the cost that the loop adds to a round. The model completes at once. Two parallel calls with 2 KB results
 * end together and share a commit. The reference inserts the same bytes into bare SQLite in the same number of
 * transactions: the round with its calls, then both results. Each contender has a separate, warm process. Contenders
 * alternate, so that other work on the machine affects all of them.
 *
 * Each contender is measured twice: with the durability of the program (WAL, synchronous FULL), and without any sync.
 * The cost without fsyncs is measured and not computed, because the cost of an fsync varies: an fsync costs twice as
 * much after a pause as right after another one.
 *
 * The history index has two costs. Marks are written in the commits of the log. Documents, with their words in the
 * full-text tables, are written later: when the process is idle, or when a search arrives. The reference for the
 * documents inserts the same words, already prepared, into a bare FTS5 table.
 */
const WARM_UP = 75
const RUNS = 40
/** Number of additional runs, in which the cost of writing documents later is measured. */
const MERGES = 5
/** Number of rounds of a run before its final completion. */
const ROUNDS = 15

interface Contender {
  readonly name: string
  /** Executes one more run. Returns its times in milliseconds. */
  order(what: 'run' | 'later'): Promise<number[]>
  close(): Promise<void>
}

const whole = start('indexed', 'loop on SQLite, indexed')
const wholeUnsynced = start('indexed, unsynced', 'loop on SQLite, indexed, nothing synced')
const bareUnsynced = start('bare, unsynced', 'loop on SQLite, no index, nothing synced')
const raw = start('raw', 'raw SQLite')
const rawUnsynced = start('raw, unsynced', 'raw SQLite, nothing synced')
const wordsUnsynced = start('words, unsynced', 'raw SQLite and FTS5, nothing synced')
const contenders = [whole, wholeUnsynced, bareUnsynced, raw, rawUnsynced, wordsUnsynced]
const times = new Map<Contender, number[][]>(contenders.map((contender) => [contender, []]))
for (let run = 0; run < WARM_UP + RUNS; run++)
  for (const contender of contenders) {
    const rounds = await contender.order('run')
    if (run >= WARM_UP) times.get(contender)?.push(rounds)
  }
const merges: number[] = []
for (let run = 0; run < MERGES; run++) merges.push(...(await whole.order('later')))
for (const contender of contenders) await contender.close()

const median = (rounds: readonly number[]): number => quantile(rounds, 0.5)
const p50 = (contender: Contender): number => median((times.get(contender) ?? []).flat())
/** Returns the lowest of the medians of all runs. The run with this median was disturbed least by other work. */
const quietest = (contender: Contender): number => Math.min(...(times.get(contender) ?? []).map(median))
const mean = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length
printTable(
  `Loop overhead: ${RUNS} runs of ${ROUNDS} rounds of two calls with 2 KB results, milliseconds a round`,
  ['', 'p50 of the quietest run', 'p50', 'p99', 'mean'],
  Array.from(times, ([contender, runs]) => {
    const rounds = runs.flat()
    return [contender.name, quietest(contender), p50(contender), quantile(rounds, 0.99), mean(rounds)]
  }),
)
const row = (name: string, left: Contender, right: Contender, against: string) => [
  name,
  quietest(left) - quietest(right),
  p50(left) - p50(right),
  against,
]
printTable(
  'Overhead, milliseconds a round',
  ['', 'quietest run', 'p50', 'against'],
  [
    row('loop with its index, beside the fsyncs', wholeUnsynced, rawUnsynced, 'raw SQLite, nothing synced'),
    row('  the loop itself', bareUnsynced, rawUnsynced, 'raw SQLite, nothing synced'),
    row('  marks in the commits', wholeUnsynced, bareUnsynced, 'the loop without an index, nothing synced'),
    row('two fsyncs in the loop', whole, wholeUnsynced, 'nothing synced'),
    row('two fsyncs without a pause', raw, rawUnsynced, 'nothing synced'),
    row('loop with its index, with its fsyncs', whole, raw, 'raw SQLite, as many fsyncs, without a pause'),
    ['later, words of a round', Math.min(...merges), median(merges), 'when idle, when many wait, or before a search'],
    row('  for comparison: words in raw FTS5', wordsUnsynced, rawUnsynced, 'raw SQLite, nothing synced'),
  ],
)
const beside = (p50(wholeUnsynced) - p50(rawUnsynced)).toFixed(3)
const inAll = (p50(whole) - p50(raw)).toFixed(3)
console.log(`overhead: ${beside} ms a round beside the fsyncs (aim: at most 1 ms), ${inAll} ms with them`)

function start(kind: string, name: string): Contender {
  const child = fork(join(import.meta.dirname, './made/contender-program.ts'), [kind, String(ROUNDS)])
  const ended = once(child, 'exit')
  return {
    name,
    async order(what) {
      child.send(what)
      const [sent] = (await Promise.race([once(child, 'message'), ended])) as unknown[]
      if (!Array.isArray(sent)) throw new Error(`the process of ${name} ended with ${String(sent)}`)
      return sent as number[]
    },
    async close() {
      child.send('close')
      await ended
    },
  }
}
