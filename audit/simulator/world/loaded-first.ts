import { globSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

const ROOT = join(import.meta.dirname, '..', '..', '..')
/** Whose code the simulated processes run. */
const SOURCES = 'functions/{access,agent,delivery,history,log,search}/**/*.ts'
const LATE = /\bimport\('([^']+)'\)/g

let loading: Promise<void> | undefined

/**
 * Loads what the program loads when it first needs it. Loading takes real time, which no seed decides: a simulation in which it
 * happens may not play the same way again.
 */
export const loadLateModules = (): Promise<void> => (loading ??= loadAll())

async function loadAll(): Promise<void> {
  const modules = new Set<string>()
  for (const file of globSync(SOURCES, { cwd: ROOT }))
    for (const [, name = ''] of readFileSync(join(ROOT, file), 'utf8').matchAll(LATE))
      modules.add(name.startsWith('.') ? join(ROOT, dirname(file), name) : name)
  await Promise.all([...modules].map((name) => import(name)))
}
