/* Evidence, house: Lint catches upward imports, cycles (also through `import()`), and floating promises. */
import { execFile } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'

/** The tests run the project's lint on a small tree. Some of its files break the rules, and some obey them. */
const ROOT = resolve(import.meta.dirname, '../..')
const CONFIGURATION = ['oxlint.config.ts', 'lint', 'tsconfig.json', 'package.json']
const LONG_FUNCTION = `export function long(): void {\n${'  void 0\n'.repeat(60)}}\n`
const LONG_FILE = `${'// line\n'.repeat(300)}export const end = 1\n`

const FILES: { readonly [path: string]: string } = {
  'functions/domain/name.ts': `export const name = 'name'\nexport type Name = string\n`,
  'functions/ports/named.ts': `import type { Name } from '../domain/name.ts'\nexport interface Named {\n  name: Name\n}\n`,
  'functions/adapters/sqlite/rows.ts': `import { name } from '../../domain/name.ts'\nexport const rows = [name]\n`,
  'functions/adapters/disk/files.ts': `export const files = 1\n`,
  'functions/runtime/local/start.ts': `import { rows } from '../../adapters/sqlite/rows.ts'\nimport { clients } from '../aws/clients.ts'\nexport const local = [rows, clients]\n`,
  'functions/runtime/aws/clients.ts': `import { S3Client } from '@aws-sdk/client-s3'\nexport const clients = S3Client\n`,
  'functions/agent/loop/round.ts': `import { step } from '../step.ts'\nexport const round = step\n`,
  'functions/agent/service/accept.ts': `import { round } from '../loop/round.ts'\nexport const accept = round\n`,
  'functions/runtime/settings/config.ts': `export const port = process.env['PORT']\n`,
  'functions/client/ai-sdk.ts': `import type { UIMessage } from 'ai'\nexport type Message = UIMessage\n`,
  'functions/http/app.ts': `export const app = 1\nexport type App = number\n`,
  'test/any.test.ts': `import { rows } from '../functions/adapters/sqlite/rows.ts'\nexport const seen = rows\n`,

  'lib/stack.ts': `import type { App } from 'aws-cdk-lib'\nimport type { port } from '../functions/runtime/settings/config.ts'\nexport type Stack = [App, typeof port]\n`,
  'bin/app.ts': `import type { Stack } from '../lib/stack.ts'\nexport const account = process.env['ACCOUNT']\nexport type App = Stack\n`,

  'lib/code.ts': `import { port } from '../functions/runtime/settings/config.ts'\nexport const code = port\n`,
  'lib/other-type.ts': `import type { App } from '../functions/http/app.ts'\nexport type Other = App\n`,
  'lib/environment.ts': `export const account = process.env['ACCOUNT']\n`,
  'bin/type.ts': `import type { port } from '../functions/runtime/settings/config.ts'\nexport type Port = typeof port\n`,
  'functions/runtime/stack.ts': `import { Stack } from 'aws-cdk-lib'\nexport const stack = Stack\n`,
  'functions/runtime/upward.ts': `import type { Stack } from '../../lib/stack.ts'\nexport type Upward = Stack\n`,

  'functions/domain/upward.ts': `import { app } from '../http/app.ts'\nexport const upward = app\n`,
  'functions/domain/package.ts': `import { join } from 'node:path'\nexport const path = join('a', 'b')\n`,
  'functions/client/peer.ts': `import type { UIMessage } from 'ai'\nexport type Message = UIMessage\n`,
  'functions/log/type-upward.ts': `import type { App } from '../http/app.ts'\nexport type Upward = App\n`,
  'functions/log/inline-type.ts': `export type Upward = import('../http/app.ts').App\n`,
  'functions/agent/lazy.ts': `export const lazy = () => import('../http/app.ts')\n`,
  'functions/tools/sibling.ts': `import { step } from '../agent/step.ts'\nexport const sibling = step\n`,
  'functions/agent/step.ts': `export const step = 1\n`,
  'functions/adapters/sqlite/neighbour.ts': `import { files } from '../disk/files.ts'\nexport const neighbour = files\n`,
  'functions/http/adapter.ts': `import { files } from '../adapters/disk/files.ts'\nexport const adapter = files\n`,
  'functions/handlers/adapter.ts': `import { files } from '../adapters/disk/files.ts'\nexport const adapter = files\n`,
  'functions/agent/loop/accepted.ts': `import { accept } from '../service/accept.ts'\nexport const accepted = accept\n`,
  'functions/agent/events/round.ts': `import { round } from '../loop/round.ts'\nexport const followed = round\n`,
  'functions/agent/outside.ts': `import { round } from './loop/round.ts'\nexport const outside = round\n`,
  'functions/runtime/aws/local.ts': `import { local } from '../local/start.ts'\nexport const onAws = local\n`,
  'functions/runtime/lambda/local.ts': `import { local } from '../local/start.ts'\nexport const inLambda = local\n`,
  'functions/mcp/serving.ts': `export const serving = 1\n`,
  'functions/mcp/door.ts': `import { app } from '../http/app.ts'\nexport const door = app\n`,
  'functions/channels/slack/endpoint.ts': `import { app } from '../../http/app.ts'\nexport const door = app\n`,
  'functions/http/memory.ts': `import { serving } from '../mcp/serving.ts'\nexport const memory = serving\n`,
  'functions/http/cloud.ts': `import { S3Client } from '@aws-sdk/client-s3'\nexport const cloud = S3Client\n`,
  'functions/runtime/elsewhere.ts': `import { S3Client } from '@aws-sdk/client-s3'\nexport const elsewhere = S3Client\n`,
  'functions/http/barrel.ts': `export { app } from './app.ts'\n`,
  'functions/http/utils.ts': `export const anything = 1\n`,
  'functions/http/environment.ts': `export const port = process.env['PORT']\n`,
  'functions/http/default.ts': `export default 1\n`,

  'functions/log/chicken.ts': `import { egg } from './egg.ts'\nexport const chicken = (): string => egg()\n`,
  'functions/log/egg.ts': `import { chicken } from './chicken.ts'\nexport const egg = (): string => chicken()\n`,
  'functions/log/left.ts': `import type { Right } from './right.ts'\nexport interface Left {\n  right?: Right\n}\n`,
  'functions/log/right.ts': `import type { Left } from './left.ts'\nexport interface Right {\n  left?: Left\n}\n`,

  'functions/log/hen.ts': `export const hen = async (): Promise<unknown> => (await import('./nest.ts')).nest
`,
  'functions/log/nest.ts': `import { brood } from './brood.ts'
export const nest = brood
`,
  'functions/log/brood.ts': `import type { hen } from './hen.ts'
export const brood = (one: typeof hen): unknown => one
`,

  'functions/agent/floating.ts': `const work = async (): Promise<void> => {}\nexport function start(): void {\n  work()\n}\n`,
  'functions/agent/any.ts': `export const loose = (value: any): unknown => value\n`,
  'functions/agent/long-function.ts': LONG_FUNCTION,
  'functions/agent/long-file.ts': LONG_FILE,
}

const BROKEN: readonly (readonly [file: string, rules: string])[] = [
  ['lib/code.ts', 'house(layers)'],
  ['lib/other-type.ts', 'house(layers)'],
  ['lib/environment.ts', 'node(no-process-env)'],
  ['bin/type.ts', 'house(layers)'],
  ['functions/runtime/stack.ts', 'house(layers)'],
  ['functions/runtime/upward.ts', 'house(layers)'],
  ['functions/domain/upward.ts', 'house(layers)'],
  ['functions/domain/package.ts', 'house(layers)'],
  ['functions/client/peer.ts', 'house(layers)'],
  ['functions/log/type-upward.ts', 'house(layers)'],
  ['functions/log/inline-type.ts', 'house(layers), typescript(consistent-type-imports)'],
  ['functions/agent/lazy.ts', 'house(layers)'],
  ['functions/mcp/door.ts', 'house(layers)'],
  ['functions/channels/slack/endpoint.ts', 'house(layers)'],
  ['functions/http/memory.ts', 'house(layers)'],
  ['functions/tools/sibling.ts', 'house(layers)'],
  ['functions/adapters/sqlite/neighbour.ts', 'house(layers)'],
  ['functions/http/adapter.ts', 'house(layers)'],
  ['functions/handlers/adapter.ts', 'house(layers)'],
  ['functions/agent/loop/accepted.ts', 'house(layers)'],
  ['functions/agent/events/round.ts', 'house(layers)'],
  ['functions/agent/outside.ts', 'house(layers)'],
  ['functions/runtime/aws/local.ts', 'house(layers)'],
  ['functions/runtime/lambda/local.ts', 'house(layers)'],
  ['functions/http/cloud.ts', 'house(layers)'],
  ['functions/runtime/elsewhere.ts', 'house(layers)'],
  ['functions/http/barrel.ts', 'house(no-re-export)'],
  ['functions/http/utils.ts', 'house(telling-name)'],
  ['functions/http/environment.ts', 'node(no-process-env)'],
  ['functions/http/default.ts', 'import(no-default-export)'],
  ['functions/log/chicken.ts', 'import(no-cycle)'],
  ['functions/log/egg.ts', 'import(no-cycle)'],
  ['functions/log/left.ts', 'import(no-cycle)'],
  ['functions/log/right.ts', 'import(no-cycle)'],
  ['functions/log/hen.ts', 'house(no-lazy-cycle)'],
  ['functions/agent/floating.ts', 'typescript(no-floating-promises)'],
  ['functions/agent/any.ts', 'typescript(no-explicit-any)'],
  ['functions/agent/long-function.ts', 'eslint(max-lines-per-function)'],
  ['functions/agent/long-file.ts', 'eslint(max-lines)'],
]

interface Report {
  readonly diagnostics: readonly { readonly filename: string; readonly code: string; readonly message: string }[]
}

const folder = mkdtempSync(join(tmpdir(), 'tooltrail-lint-'))
const found = new Map<string, string[]>()
let failed = false

beforeAll(async () => {
  for (const name of CONFIGURATION) cpSync(join(ROOT, name), join(folder, name), { recursive: true })
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'))
  for (const [path, text] of Object.entries(FILES)) {
    mkdirSync(join(folder, dirname(path)), { recursive: true })
    writeFileSync(join(folder, path), text)
  }
  const report = await lint()
  for (const { filename, code } of report.diagnostics) {
    const file = resolve(folder, filename).slice(folder.length + 1)
    found.set(file, [...(found.get(file) ?? []), code])
  }
})
afterAll(() => rmSync(folder, { recursive: true }))

function lint(): Promise<Report> {
  const oxlint = join(ROOT, 'node_modules/oxlint/bin/oxlint')
  return new Promise((resolve, reject) => {
    execFile(
      process.execPath,
      [oxlint, '--format=json', 'bin', 'lib', 'functions', 'test'],
      { cwd: folder },
      (error, stdout) => {
        failed = error !== null
        try {
          resolve(JSON.parse(stdout) as Report)
        } catch (cause) {
          reject(new Error(`oxlint printed no report: ${stdout}`, { cause }))
        }
      },
    )
  })
}

describe('the linter', () => {
  test('fails for the canary files', () => expect(failed).toBe(true))

  test.each(BROKEN)('reports for %s the rules %s and no others', (file, rules) => {
    expect([...new Set(found.get(file))].toSorted().join(', ')).toBe(rules)
  })

  test('accepts every file that follows the rules', () => {
    const broken = new Set(BROKEN.map(([file]) => file))
    expect([...found.keys()].filter((file) => !broken.has(file))).toEqual([])
  })
})
