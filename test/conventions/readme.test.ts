/* Evidence, house: Citations, links and configuration tables agree with the tree. */
import { existsSync, readFileSync, readdirSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { describe, expect, test } from 'vitest'
import { agentsSchema } from '../../build/agents-schema.ts'
import { DEFAULT_POLICIES } from '../../functions/domain/agent.ts'
import { parseAgents } from '../../functions/runtime/settings/agents-file.ts'
import { environment } from '../../functions/runtime/settings/config.ts'

/** The tests compare the pages with the program. `citations.test.ts` checks the links and citations of the pages. */
const ROOT = resolve(import.meta.dirname, '../..')
const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8')
const { scripts } = JSON.parse(read('package.json')) as { scripts: { readonly [name: string]: string } }
const pages = [
  ...readdirSync(ROOT),
  ...readdirSync(join(ROOT, 'docs'), { recursive: true, encoding: 'utf8' }).map((name) => `docs/${name}`),
].filter((name) => name.endsWith('.md'))

describe.each(pages)('%s', (page) => {
  test('names only existing npm scripts', () => {
    const named = [...read(page).matchAll(/npm run ([\w:-]+)/g)].map(([, name]) => name ?? '')
    expect(named.filter((name) => scripts[name] === undefined)).toEqual([])
  })

  test('names only existing paths of the tree', () => {
    const withoutAddresses = read(page).replaceAll(/https?:\/\/[^\s)]+/g, '')
    const named = [
      ...withoutAddresses.matchAll(/\b((?:functions|test|docs|lint|bench|lib|bin|scripts)\/[\w./-]*[\w/])/g),
    ].map(([path]) => path)
    expect(named.filter((path) => !existsSync(join(ROOT, path)))).toEqual([])
  })
})

test('every npm script runs existing files', () => {
  const files = Object.values(scripts).flatMap((script) => script.match(/[\w./-]+\.m?[jt]s\b/g) ?? [])
  expect(files.filter((path) => !existsSync(join(ROOT, path)))).toEqual([])
})

/** Returns the table rows of a page's section, without the header rows. */
const rowsOf = (page: string, section: string): string[][] =>
  (read(page).split(`\n## ${section}\n`)[1]?.split('\n## ')[0] ?? '')
    .split('\n')
    .filter((line) => line.startsWith('| `'))
    .map((line) => line.split(' | ').map((cell) => cell.replaceAll(/^\| | \|$/g, '').trim()))

describe('docs/reference/configuration.md', () => {
  test('lists exactly the variables that the program reads', () => {
    // The first cell of a row may name several variables.
    const listed = rowsOf('docs/reference/configuration.md', 'Variables').flatMap(
      ([names]) => names?.match(/[A-Z][A-Z0-9_]+/g) ?? [],
    )
    expect(listed.toSorted()).toEqual(Object.keys(environment.shape).toSorted())
  })
})

interface SchemaNode {
  readonly properties?: { readonly [name: string]: SchemaNode }
  readonly additionalProperties?: SchemaNode | boolean
  readonly items?: SchemaNode
  readonly anyOf?: readonly SchemaNode[]
}

/** Yields the paths of a schema's fields: `*` is any name, `[]` is any entry of a list. */
function* fieldsOf(node: SchemaNode, path = ''): Generator<string, void> {
  for (const [name, field] of Object.entries(node.properties ?? {})) {
    const at = path === '' ? name : `${path}.${name}`
    yield at
    yield* fieldsOf(field, at)
  }
  for (const one of node.anyOf ?? []) yield* fieldsOf(one, path)
  if (typeof node.additionalProperties === 'object') yield* fieldsOf(node.additionalProperties, `${path}.*`)
  if (node.items !== undefined) yield* fieldsOf(node.items, `${path}[]`)
}

describe('docs/reference/agents.md', () => {
  test('lists exactly the fields of agents.json', () => {
    const fields = [...fieldsOf(JSON.parse(agentsSchema()) as SchemaNode)]
    expect(fields.length).toBeGreaterThan(50)
    const listed = rowsOf('docs/reference/agents.md', 'The whole file').map(([name = '']) => name.replaceAll('`', ''))
    expect(listed.toSorted()).toEqual(fields.toSorted())
  })

  test('explains every field, together with the pages on servers and channels', () => {
    const said = [
      'docs/reference/agents.md',
      'docs/reference/mcp.md',
      'docs/reference/slack.md',
      'docs/reference/webhooks.md',
      'docs/guides/webhooks.md',
    ]
      .map((page) => read(page).split('\n## The whole file\n')[0] ?? '')
      .join('\n')
    const names = new Set([...fieldsOf(JSON.parse(agentsSchema()) as SchemaNode)].map((path) => path.split('.').at(-1)))
    expect([...names].filter((name = '') => !new RegExp(`["\`.]${name.replace('$', '\\$')}["\`.]`).test(said))).toEqual(
      [],
    )
  })

  test('lists exactly the policies of agents.json, with their defaults', () => {
    const rows = rowsOf('docs/reference/agents.md', 'Policies').map(([name, value]) => [
      name?.replaceAll('`', ''),
      value?.replaceAll('`', ''),
    ])
    const names = Object.keys(DEFAULT_POLICIES).map((name) =>
      name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
    )
    const policies = rows.filter(([name]) => names.includes(name ?? ''))
    expect(policies.map(([name = '']) => name).toSorted()).toEqual(names.toSorted())
    const written = Object.fromEntries(policies.map(([name = '', value]) => [name, JSON.parse(value ?? '') as unknown]))
    const defaults = { model: 'demo/demo', tools: new Map(), defaultTools: [] }
    const agents = parseAgents({ agents: { listed: { policies: written } } }, defaults)
    expect(agents.get('listed')?.policies).toEqual(DEFAULT_POLICIES)
  })
})

describe('docs/reference/api.md', () => {
  const sources = ['functions/http', 'functions/channels'].flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.ts'))
      .map((name) => read(`${folder}/${name}`)),
  )
  const rows = [...read('docs/reference/api.md').matchAll(/^\| (\d{3}) \| (.+) \|$/gm)]
  const listed = rows.flatMap(([, , codes]) => [...(codes ?? '').matchAll(/`(\w+)`/g)].map(([, code]) => code ?? ''))

  test('lists every specific problem code', () => {
    const refusals = sources.flatMap((text) => [...text.matchAll(/new RequestError\(\s*\d+,\s*'(\w+)'/g)])
    const statuses = sources.flatMap((text) => [...text.matchAll(/^ {2}(?!status)(\w+): \d{3},$/gm)])
    const literals = sources.flatMap((text) => [...text.matchAll(/status: \d+,\s*code: '(\w+)'/g)])
    const codes = [...refusals, ...statuses, ...literals].map(([, code]) => code ?? '')
    expect(codes.length).toBeGreaterThan(25)
    expect([...new Set(codes)].filter((code) => !listed.includes(code))).toEqual([])
  })

  test('lists exactly the warnings of a run', () => {
    const type = /type WarningCode =\n((?: {2}\| '\w+'\n)+)/.exec(read('functions/domain/runs/run.ts'))?.[1] ?? ''
    const codes = [...type.matchAll(/'(\w+)'/g)].map(([, code = '']) => code)
    expect(codes.length).toBeGreaterThan(5)
    const warnings = read('docs/reference/api.md').split('\n### Warnings\n')[1]?.split('\n## ')[0] ?? ''
    expect([...warnings.matchAll(/^\| `(\w+)` \|/gm)].map(([, code = '']) => code).toSorted()).toEqual(codes.toSorted())
  })

  test('lists only codes that the API uses', () => {
    const text = sources.join('\n')
    expect(listed.filter((code) => !text.includes(code))).toEqual([])
  })
})

describe('README.md', () => {
  test('has fewer than 250 lines, because longer texts belong in docs/', () => {
    expect(read('README.md').split('\n').length).toBeLessThan(250)
  })

  test('has a kill command that ends only the program that listens at the tour’s port', () => {
    expect(read('README.md')).not.toMatch(/pkill|killall/)
    const port = String(environment.shape.PORT.parse(undefined))
    expect(read('README.md')).toContain(`kill -9 $(lsof -t -i tcp:${port} -s tcp:listen)`)
  })
})
