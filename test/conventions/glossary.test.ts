import { readFileSync, readdirSync } from 'node:fs'
import { basename, join, resolve } from 'node:path'
import { parseSync, Visitor } from 'oxc-parser'
import { describe, expect, test } from 'vitest'

const ROOT = resolve(import.meta.dirname, '../..')
const CODE = ['functions', 'page', 'lib', 'bin', 'build', 'test', 'audit', 'bench']
const files = CODE.flatMap((folder) =>
  readdirSync(join(ROOT, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && /\.tsx?$/.test(entry.name) && !entry.parentPath.includes('node_modules'))
    .map((entry) => join(entry.parentPath, entry.name)),
).filter((path) => path !== import.meta.filename)
const source = files
  .filter((path) => path.includes('/functions/'))
  .map((path) => readFileSync(path, 'utf8'))
  .join('\n')

const terms = [
  ...readFileSync(join(ROOT, 'docs/design/glossary.md'), 'utf8').matchAll(/^\| (.+?) \| (.+?) \| `(\w+)` \|$/gm),
].map(([, term = '', meaning = '', name = '']) => ({ term, meaning, name }))

/** Identifiers and property names of a file. */
function namesIn(path: string): string[] {
  const names = new Set<string>()
  const { program } = parseSync(path, readFileSync(path, 'utf8'))
  new Visitor({ Identifier: ({ name }) => names.add(name), JSXIdentifier: ({ name }) => names.add(name) }).visit(
    program,
  )
  return [...names]
}

/** Banned words that begin a part of a name. The glossary has a replacement for each word. */
const BANNED =
  /(?:^|[a-z_])(?:Told|Tells|Glances?|Insists?|Insistent|Echoes|Patience|Poison|Whoever|Somebody)(?=[A-Z_]|$)|^(?:told|glances?|insist|insistent|echoes|patience|poison|whoever|somebody)(?=[A-Z]|$)|PATIENCE|POISON|GLANCE/
/** Names in deployed stacks. If they changed, CloudFormation would replace the queue. */
const DEPLOYED = new Set(['PoisonQueueUrl', 'Poison', 'poison', 'TOOLTRAIL_POISON_URL'])

describe('docs/design/glossary.md', () => {
  test('has at least 40 terms, in alphabetical order', () => {
    expect(terms.length).toBeGreaterThanOrEqual(40)
    const names = terms.map(({ term }) => term.toLowerCase())
    expect(names).toEqual(names.toSorted())
  })

  test.each(terms)('lists $term, which occurs in the code as $name', ({ name }) => {
    expect(source).toMatch(new RegExp(`\\b${name}\\b`))
  })

  test('has a pattern for banned synonyms, and the pattern finds its samples', () => {
    for (const name of ['told', 'isTold', 'RoundTold', 'glance', 'insistOn', 'ECHO_PATIENCE_MS', 'echoesOf'])
      expect(name).toMatch(BANNED)
    for (const name of ['stored', 'toldest', 'echo', 'consistent', 'insister']) expect(name).not.toMatch(BANNED)
  })

  test('bans synonyms, and no identifier or file name contains a banned synonym', () => {
    const found = files.flatMap((path) => {
      const names = namesIn(path).filter((name) => BANNED.test(name) && !DEPLOYED.has(name))
      const file = basename(path).replace(/\..*$/, '')
      return [
        ...names,
        ...(/(?:^|-)(?:told|glances?|insist|insistent|echoes|patience|poison)(?:-|$)/.test(file) ? [file] : []),
      ].map((name) => `${path.slice(ROOT.length + 1)}: ${name}`)
    })
    expect(found).toEqual([])
  })
})
