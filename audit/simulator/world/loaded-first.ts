import { globSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

const ROOT = join(import.meta.dirname, '..', '..', '..')
/** Source files that the simulated processes execute. */
const SOURCES = 'functions/{access,agent,delivery,history,log,search}/**/*.ts'
const LATE = /\bimport\('([^']+)'\)/g

let loading: Promise<void> | undefined

/**
 * Loads all modules that the program would import late. Loading takes real time, which the seed does not determine, so
 * it must not happen in a simulation.
 */
export const loadLateModules = (): Promise<void> => (loading ??= loadAll())

async function loadAll(): Promise<void> {
  const modules = new Set<string>()
  for (const file of globSync(SOURCES, { cwd: ROOT }))
    for (const [, name = ''] of readFileSync(join(ROOT, file), 'utf8').matchAll(LATE))
      modules.add(name.startsWith('.') ? join(ROOT, dirname(file), name) : name)
  await Promise.all([...modules].map((name) => import(name)))
}
