import { execFileSync } from 'node:child_process'
import { appendFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { printTable } from '../report.ts'
import { openBaselines } from './baselines.ts'
import { readChats } from './chat-sets.ts'
import { openOpenSearch, openSqlite, type Engine } from './engines.ts'
import { askAll, figuresOf, type Answer, type Figures } from './figures.ts'
import { readOpenSets, type QuestionSet } from './question-sets.ts'

/** Measures the quality of search on question sets, see the README. Appends the figures to `FIGURES`. */
const FIGURES = join(import.meta.dirname, 'figures.jsonl')

const { values: options } = parseArgs({
  options: {
    check: { type: 'boolean', default: false },
    baselines: { type: 'boolean', default: false },
    misses: { type: 'boolean', default: false },
    locomo: { type: 'string' },
    realtalk: { type: 'string' },
    opensearch: { type: 'string' },
  },
})

const sets: QuestionSet[] = await readOpenSets()
if (options.locomo !== undefined) sets.push(readChats('LoCoMo', options.locomo))
if (options.realtalk !== undefined) sets.push(readChats('REALTALK', options.realtalk))
for (const shared of Map.groupBy(sets, ({ documents }) => documents).values()) await measure(shared)

/** Measures all engines on sets with the same documents. An engine is closed before the next one opens. */
async function measure(shared: readonly QuestionSet[]): Promise<void> {
  const documents = shared[0]?.documents ?? []
  const opens: (() => Promise<Engine>)[] = [() => openSqlite(documents)]
  const { opensearch } = options
  if (opensearch !== undefined) opens.push(() => openOpenSearch(opensearch, documents))
  if (options.baselines) opens.push(...(await openBaselines(documents)))
  for (const open of opens) {
    const engine = await open()
    for (const set of shared) record(report(engine, set, await askAll(engine, set)))
    await engine.close()
  }
}

/** Prints the figures of a set. Returns them as lines for the file. */
function report(engine: Engine, set: QuestionSet, all: readonly Answer[]): object[] {
  // Odd lines are for the final check only, so other measurements do not count them.
  const answers = options.check ? all : all.filter(({ half }) => half !== 'odd')
  const groups = new Map([
    ...[...Map.groupBy(answers, ({ kind }) => kind)].toSorted(([left], [right]) => left.localeCompare(right)),
    ...[...Map.groupBy(answers, ({ half }) => half)].map(([half, some]) => [`${half} lines`, some] as const),
  ])
  const figures = [...groups].map(([group, some]) => [group, figuresOf(some)] as const)
  const row = (name: string, { questions, hit1, hit10, hit20, mrr, p50, p95 }: Figures): (string | number)[] => [
    name,
    questions,
    ...[hit1, hit10, hit20, mrr].map((share) => share.toFixed(3)),
    ...[p50, p95].map((time) => time.toFixed(1)),
  ]
  printTable(
    `${set.name}, ${engine.name}`,
    ['', 'questions', 'hit@1', 'hit@10', 'hit@20', 'MRR', 'ms p50', 'p95'],
    figures.map(([group, found]) => row(group, found)),
  )
  if (options.misses)
    for (const { kind, text, rank } of answers) if (rank > 10) console.log(`  missed (${kind}, ${rank}): ${text}`)
  return figures.map(([group, { questions, hit1, hit10, hit20, mrr }]) => ({
    ...{ set: set.name, engine: engine.name, group, questions },
    ...rounded({ hit1, hit10, hit20, mrr }),
  }))
}

function rounded(figures: Readonly<Record<string, number>>): Record<string, number> {
  return Object.fromEntries(Object.entries(figures).map(([name, value]) => [name, Math.round(value * 1_000) / 1_000]))
}

function record(measured: readonly object[]): void {
  const commit = execFileSync('git', ['describe', '--always', '--dirty'], { encoding: 'utf8' }).trim()
  const date = new Date().toISOString().slice(0, 10)
  appendFileSync(FIGURES, measured.map((line) => `${JSON.stringify({ date, commit, ...line })}\n`).join(''))
}
