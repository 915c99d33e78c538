import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { executedFiles } from './executed-files.ts'
import { importCycles } from './import-cycles.ts'

/**
 * Prints how much code a person must read to follow a turn: `npm run figures`. Record 42 has the figures before and
 * after the redesign of the loop.
 */
const ROOT = join(import.meta.dirname, '../..')
const AGENT = 'functions/agent/'
const LOOP = `${AGENT}loop/`
/** Maximum number of paths or cycles that the output names for one figure. */
const MAX_NAMED = 60

const sources = readdirSync(join(ROOT, 'functions'), { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.ts'))
  .map((name) => `functions/${name}`)
const textOf = (path: string): string => readFileSync(join(ROOT, path), 'utf8')
const lines = sources
  .filter((path) => path.startsWith(LOOP))
  .reduce((sum, path) => sum + textOf(path).split('\n').length - 1, 0)
const executed = (await executedFiles(ROOT)).filter((path) => path.startsWith(AGENT))

function print(name: string, paths: readonly string[]): void {
  console.log(`${name}: ${paths.length}`)
  for (const path of paths.slice(0, MAX_NAMED)) console.log(`  ${path}`)
}

console.log(`lines of agent/loop: ${lines}`)
print(
  'files of agent/loop that a run with one tool call executes',
  executed.filter((path) => path.startsWith(LOOP)),
)
print(
  'other files of agent that it executes',
  executed.filter((path) => !path.startsWith(LOOP)),
)
print(
  'files that name the type RunState',
  sources.filter((path) => /\bRunState\b/.test(textOf(path))),
)
print(
  'cycles of imports, static or dynamic',
  importCycles(ROOT, sources).map((cycle) => cycle.join(' > ')),
)
