import { readFileSync } from 'node:fs'
import { dirname, resolve } from 'node:path'

/** Matches the relative path of each import: static, type, `import()` and `import('…').Type`. */
const IMPORTED = /\b(?:from|import)\s*\(?\s*['"](\.{1,2}\/[^'"]+)['"]/g

const importsOf = new Map<string, readonly string[]>()

/** Returns the files that a file imports. Reads each file once. */
function readImports(file: string): readonly string[] {
  const known = importsOf.get(file)
  if (known !== undefined) return known
  const found = [...textOf(file).matchAll(IMPORTED)].map(([, path = '']) => resolve(dirname(file), path))
  importsOf.set(file, found)
  return found
}

/** Returns the text of a file; empty if the file does not exist. The compiler reports imports of missing files. */
function textOf(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    if (error instanceof Error && 'code' in error && (error.code === 'ENOENT' || error.code === 'EISDIR')) return ''
    throw error
  }
}

/** Returns the shortest path of imports from `from` to `to`, including both; undefined if there is none. */
export function importPath(from: string, to: string): readonly string[] | undefined {
  const importers = new Map<string, string | undefined>([[from, undefined]])
  for (const file of importers.keys()) {
    if (file === to) return pathTo(file, importers)
    for (const next of readImports(file)) if (!importers.has(next)) importers.set(next, file)
  }
  return undefined
}

function pathTo(file: string, importers: ReadonlyMap<string, string | undefined>): readonly string[] {
  const importer = importers.get(file)
  return importer === undefined ? [file] : [...pathTo(importer, importers), file]
}
