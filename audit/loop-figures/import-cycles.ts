import { readFileSync } from 'node:fs'
import { join } from 'node:path'

const IMPORT = /(?:\bfrom|\bimport)\s*\(?\s*'(\.[^']+)'/g

/** Lists the groups of files that import each other, by `import`, `import type`, `export` or `import()`. */
export function importCycles(root: string, paths: readonly string[]): string[][] {
  const known = new Set(paths)
  const imports = new Map(paths.map((path) => [path, importsOf(root, path).filter((one) => known.has(one))]))
  const reachable = new Map(paths.map((path) => [path, reachedFrom(path, imports)]))
  const inCycle = paths.filter((path) => reachable.get(path)?.has(path) === true)
  const groups = new Map<string, string[]>()
  for (const path of inCycle) {
    const group = inCycle.filter((one) => reachable.get(path)?.has(one) && reachable.get(one)?.has(path))
    groups.set(group.join(' '), group)
  }
  return [...groups.values()]
}

function importsOf(root: string, path: string): string[] {
  const text = readFileSync(join(root, path), 'utf8')
  return [...text.matchAll(IMPORT)].map(([, name = '']) => join(path, '..', name))
}

/** Returns the files that a file imports, directly or through other files. */
function reachedFrom(path: string, imports: ReadonlyMap<string, readonly string[]>): Set<string> {
  const reached = new Set<string>()
  const queue = [path]
  for (let next = queue.pop(); next !== undefined; next = queue.pop())
    for (const one of imports.get(next) ?? []) {
      if (reached.has(one)) continue
      reached.add(one)
      queue.push(one)
    }
  return reached
}
