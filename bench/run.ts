import { spawnSync } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'

/*
 * Runs the benches that the command line names, one after the other. Default: all benches of this folder that need no
 * options.
 */

/** Files of this folder that are not benches. */
const NOT_A_BENCH = new Set(['run.ts', 'report.ts'])
const BY_NAME_ALONE = new Set(['soak.ts', 'import.ts'])
const wanted = process.argv.slice(2)
const all = readdirSync(import.meta.dirname).filter((name) => name.endsWith('.ts') && !NOT_A_BENCH.has(name))
const chosen =
  wanted.length === 0
    ? all.filter((name) => !BY_NAME_ALONE.has(name))
    : all.filter((name) => wanted.includes(name.replace(/\.ts$/, '')))
if (chosen.length === 0) {
  console.error(`no such bench: there are ${all.map((name) => name.replace(/\.ts$/, '')).join(', ')}`)
  process.exitCode = 1
}
for (const name of chosen) {
  const { status } = spawnSync(process.execPath, [join(import.meta.dirname, name)], { stdio: 'inherit' })
  if (status !== 0) process.exitCode = 1
}
