import { existsSync, readFileSync, readdirSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { describe, expect, test } from 'vitest'

const ROOT = resolve(import.meta.dirname, '../..')
const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8')
const { scripts } = JSON.parse(read('package.json')) as { scripts: { readonly [name: string]: string } }
const pages = ['README.md', 'AGENTS.md', 'CONTRIBUTING.md', 'docs/evidence.md'].concat(
  readdirSync(join(ROOT, 'docs/decisions')).map((name) => `docs/decisions/${name}`),
)

describe.each(pages)('%s', (page) => {
  test('names only npm scripts that exist', () => {
    const named = [...read(page).matchAll(/npm run ([\w:-]+)/g)].map(([, name]) => name ?? '')
    expect(named.filter((name) => scripts[name] === undefined)).toEqual([])
  })

  test('links only to files that exist', () => {
    const links = [...read(page).matchAll(/\]\(([^)#:]+)(#[^)]*)?\)/g)].map(([, path]) => path ?? '')
    expect(links.filter((path) => !existsSync(resolve(ROOT, page, '..', path)))).toEqual([])
  })

  test('names only paths of the tree that exist', () => {
    const named = [...read(page).matchAll(/\b((?:functions|test|docs|lint|bench)\/[\w./-]*[\w/])/g)].map(
      ([path]) => path,
    )
    expect(named.filter((path) => !existsSync(join(ROOT, path)))).toEqual([])
  })
})

test('every npm script runs files that exist', () => {
  const files = Object.values(scripts).flatMap((script) => script.match(/[\w./-]+\.m?[jt]s\b/g) ?? [])
  expect(files.filter((path) => !existsSync(join(ROOT, path)))).toEqual([])
})

test('the configuration table of the README lists every variable that the program reads, and no other', () => {
  const table = read('README.md').split('## Configuration')[1]?.split('\n## ')[0] ?? ''
  const listed = [...table.matchAll(/^\| (.*?) \|/gm)].flatMap(([, cell]) => cell?.match(/[A-Z][A-Z0-9_]+/g) ?? [])
  // What the functions on AWS read besides is set by the stacks.
  const program = /environment = z\.object\(\{(.*?)^\}\)/ms.exec(read('functions/runtime/config.ts'))?.[1] ?? ''
  const known = [...program.matchAll(/^ {2}([A-Z][A-Z0-9_]+): /gm)].map(([, name]) => name ?? '')
  expect(listed.toSorted()).toEqual(known.toSorted())
})
