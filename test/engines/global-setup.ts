import { readFile } from 'node:fs/promises'
import { relative } from 'node:path'
import { parseCLI } from 'vitest/node'
import type { TestProject } from 'vitest/node'
import { NEED_NAMES, startEngine } from './engines.ts'
import type { NeedName } from './engines.ts'
import type { Engine } from './process.ts'

declare module 'vitest' {
  export interface ProvidedContext {
    /** Undefined: the engine is unavailable. */
    readonly endpoints: { readonly [name in NeedName]?: string }
  }
}

/**
 * Starts the engines that the selected suites require by `withEngines([…])`. If an engine is unavailable, its suites are skipped,
 * and a line on standard error names them. In CI, the setup then fails.
 */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const { filter } = parseCLI(['vitest', ...process.argv.slice(2)])
  const { testFiles } = await project.globTestFiles(filter)
  const suites = await Promise.all(
    testFiles.map(async (file) => ({ file, engines: enginesOf(await readFile(file, 'utf8')) })),
  )
  const wanted = NEED_NAMES.filter((name) => suites.some((suite) => suite.engines.includes(name)))
  const outcomes = await Promise.allSettled(wanted.map(startEngine))
  const running = new Map<NeedName, Engine>()
  const missing: string[] = []
  for (const [index, outcome] of outcomes.entries()) {
    const name = wanted[index]
    if (name === undefined) continue
    if (outcome.status === 'fulfilled') running.set(name, outcome.value)
    else {
      const leftOut = suites.filter((suite) => suite.engines.includes(name)).map((suite) => relative('.', suite.file))
      missing.push(`left out, for ${name} cannot be had (${reasonOf(outcome.reason)}): ${leftOut.join(', ')}`)
    }
  }
  const stopAll = async (): Promise<void> => {
    await Promise.all([...running.values()].map((engine) => engine.stop()))
  }
  for (const line of missing) process.stderr.write(`${line}\n`)
  if (missing.length > 0 && isInCi()) {
    await stopAll()
    throw new Error('an engine is missing, which CI does not allow')
  }
  project.provide('endpoints', Object.fromEntries([...running].map(([name, engine]) => [name, engine.endpoint])))
  return stopAll
}

/** Whether this is a CI system, which sets the variable `CI` to `true` or `1`. */
const isInCi = (): boolean => !['', '0', 'false', undefined].includes(process.env['CI'])

function enginesOf(text: string): NeedName[] {
  const calls = [...text.matchAll(/withEngines\(\[([^\]]*)\]/g)].map((match) => match[1] ?? '')
  return NEED_NAMES.filter((name) => calls.some((call) => call.includes(`'${name}'`)))
}

const reasonOf = (reason: unknown): string =>
  reason instanceof Error ? (reason.message.split('\n')[0] ?? '') : String(reason)
