import { existsSync, readFileSync } from 'node:fs'
import { join, normalize, resolve } from 'node:path'
import { describe, expect, test } from 'vitest'

const ROOT = resolve(import.meta.dirname, '../..')
const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8')
/** Ports that nearly every file imports. An import of such a port does not connect one step with the next. */
const EVERYWHERE = ['functions/ports/clock.ts', 'functions/ports/logger.ts']
/** Interfaces that connect a caller with a file that the caller does not import. */
const isInterface = (path: string): boolean =>
  (path.startsWith('functions/ports/') && !EVERYWHERE.includes(path)) ||
  path === 'functions/agent/service/agent-service.ts' ||
  path === 'functions/delivery/channel.ts'

const imports = (path: string): string[] =>
  [...read(path).matchAll(/(?:from|import\()\s*'(\.[^']+)'/g)].map(([, specifier]) =>
    normalize(join(path, '..', specifier ?? '')),
  )

/** The files of each section of the page, in the order of its rows. */
function sections(page: string): { readonly title: string; readonly files: readonly string[] }[] {
  return page
    .split(/^#{2,3} /m)
    .slice(1)
    .map((section) => ({
      title: section.split('\n')[0] ?? '',
      files: [...section.matchAll(/^\| `([^`]+)` \|/gm)].map(([, file]) => file ?? ''),
    }))
    .filter(({ files }) => files.length > 0)
}

/** Files that no earlier file of the section imports, directly or through an interface. */
function uncalled(files: readonly string[], injected: ReadonlyMap<string, string> = new Map()): string[] {
  return files.filter((file, index) => {
    if (index === 0) return false
    const composer = injected.get(file)
    if (composer !== undefined) return !imports(composer).includes(file)
    const interfaces = imports(file).filter(isInterface)
    return !files.slice(0, index).some((earlier) => {
      const called = imports(earlier)
      return called.includes(file) || interfaces.some((path) => called.includes(path))
    })
  })
}

describe('docs/design/architecture.md', () => {
  const page = read('docs/design/architecture.md')
  const all = sections(page)
  const injected = new Map(
    [...page.matchAll(/^\| `([^`]+)` \|[^|]*injected by `([^`]+)`/gm)].map(([, file = '', by = '']) => [file, by]),
  )

  test('lists more than 70 files in seven tables', () => {
    expect(all.map(({ title }) => title)).toHaveLength(7)
    expect(all.flatMap(({ files }) => files).length).toBeGreaterThan(70)
  })

  test.each(all)('names files that exist: $title', ({ files }) => {
    expect(files.filter((file) => !existsSync(join(ROOT, file)))).toEqual([])
  })

  test.each(all)('lists each file below a file that calls it: $title', ({ files }) => {
    expect(uncalled(files, injected)).toEqual([])
  })

  test('detects a file that is listed before its only caller', () => {
    const files = all[0]?.files ?? []
    const last = files.at(-1) ?? ''
    expect(uncalled([files[0] ?? '', last, ...files.slice(1, -1)])).toContain(last)
  })
})
