import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { gzipSync } from 'node:zlib'
import { afterAll, describe, expect, test } from 'vitest'

const ROOT = resolve(import.meta.dirname, '../..')
const folder = mkdtempSync(join(tmpdir(), 'tooltrail-built-'))
afterAll(() => rmSync(folder, { recursive: true }))

/** Reads every file below a folder, by path. */
function contents(path: string): Record<string, string> {
  const files = readdirSync(path, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile())
  const named = files.map(({ parentPath, name }) => join(parentPath, name)).toSorted()
  return Object.fromEntries(named.map((file) => [file.slice(path.length), readFileSync(file, 'utf8')]))
}
/** Lists the names of the files that differ. The texts of the files would be too long for a report. */
function differing(built: string, made: string): string[] {
  const [left, right] = [contents(built), contents(made)]
  return [...new Set([...Object.keys(left), ...Object.keys(right)])].filter((name) => left[name] !== right[name])
}

test('the committed files equal the output of `npm run build`', () => {
  const { NODE_ENV: _ofTests, ...env } = process.env
  const words = [join(ROOT, 'build/build.ts'), folder]
  execFileSync(process.execPath, words, { env, stdio: 'inherit' })
  for (const path of ['built/page', 'built/client'])
    expect(differing(join(ROOT, path), join(folder, path)), path).toEqual([])
  const pictures = ['light', 'dark'].map((theme) => `docs/images/floors-${theme}.svg`)
  for (const file of ['functions/client/api-types.ts', 'built/agents.schema.json', ...pictures])
    expect(readFileSync(join(ROOT, file), 'utf8') === readFileSync(join(folder, file), 'utf8'), file).toBe(true)
})

describe('the page', () => {
  const files = contents(join(ROOT, 'built/page'))

  test('takes at most 150 KB over the network', () => {
    const bytes = Object.values(files).reduce((sum, text) => sum + gzipSync(text).length, 0)
    expect(bytes).toBeLessThanOrEqual(150_000)
    expect(bytes).toBeGreaterThan(10_000)
  })

  test("contains no address of another host, except format names and a library's issue address", () => {
    const named = Object.values(files).flatMap((text) => text.match(/https?:\/\/[\w.-]+(?:\/markedjs\/)?/g) ?? [])
    expect(
      named.filter((address) => !/^http:\/\/www\.w3\.org$|^https:\/\/github\.com\/markedjs\/$/.test(address)),
    ).toEqual([])
  })

  test('never creates HTML from a text', () => {
    const sources = contents(join(ROOT, 'page'))
    const makers = /innerHTML|outerHTML|insertAdjacentHTML|document\.write|DOMParser|\beval\b|new Function/
    expect(Object.keys(sources).filter((name) => makers.test(sources[name] ?? ''))).toEqual([])
  })
})
