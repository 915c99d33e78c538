import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { createManualClock } from '../contracts/stores.ts'
import { createMemoryKeys } from '../cli/commands/keys/memory-keys.ts'
import { runKeys } from '../cli/commands/keys/run-keys.ts'
import { environmentNamed, ofType, synthesise } from './synthesise.ts'

const ROOT = resolve(import.meta.dirname, '../..')
const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8')
const folder = mkdtempSync(join(tmpdir(), 'tooltrail-own-app-'))
afterAll(() => rmSync(folder, { recursive: true }))

const sectionOf = (page: string, title: string): string =>
  read(page).split(`\n## ${title}\n`)[1]?.split('\n## ')[0] ?? ''

test('docs/operations/alarms.md explains every alarm and its action, and no other alarm', () => {
  const rows = [...sectionOf('docs/operations/alarms.md', 'Alarms').matchAll(/^\| (`.*?) \| (.+?) \| (.+?) \|$/gm)]
  const explained = rows.flatMap(([, names]) => [...(names ?? '').matchAll(/`([\w-]+)`/g)].map(([, name]) => name))
  const alarms = ['dev', 'prod'].flatMap((name) =>
    ofType(synthesise(environmentNamed(name)), 'AWS::CloudWatch::Alarm').map(([, { Properties }]) =>
      String(Properties['AlarmName']).replace(`tooltrail-${name}-`, ''),
    ),
  )
  expect(new Set(explained)).toEqual(new Set(alarms))
  expect(explained).toHaveLength(new Set(alarms).size)
})

describe('docs/operations/costs.md', () => {
  const rows = sectionOf('docs/operations/costs.md', 'Idle')
    .split('\n')
    .map((line) => line.split('|').map((cell) => cell.replaceAll('*', '').trim()))
    .flatMap(([, what = '', arithmetic = '', ...dollars]) =>
      dollars.some((text) => /^\d+\.\d\d$/.test(text)) ? [{ what, arithmetic, dollars: dollars.map(Number) }] : [],
    )
  const rowOf = (name: string) => rows.find(({ what }) => what === name)

  test('counts the metrics of the alarms and the rules of the firewall as in the templates', () => {
    const [dev, prod] = [synthesise(environmentNamed('dev')), synthesise(environmentNamed('prod'))]
    const metrics = [dev, prod].map((template) =>
      ofType(template, 'AWS::CloudWatch::Alarm').reduce((sum, [, { Properties }]) => {
        const parts = (Properties['Metrics'] ?? [{ MetricStat: {} }]) as { readonly MetricStat?: object }[]
        return sum + parts.filter(({ MetricStat }) => MetricStat !== undefined).length
      }, 0),
    )
    expect(rowOf('alarms')?.arithmetic).toBe(`on ${metrics[0]} metrics, in prod ${metrics[1]}, × $0.10`)
    const [firewall] = ofType(prod, 'AWS::WAFv2::WebACL')
    const rules = (firewall?.[1].Properties['Rules'] ?? []) as readonly object[]
    expect(rowOf('firewall')?.arithmetic).toBe(`$5 + ${rules.length} rules × $1`)
  })

  test.each([0, 1, 2])('adds up in column %i', (column) => {
    const all = rowOf('all')?.dollars[column]
    const others = rows.filter(({ what }) => what !== 'all')
    expect(others.length).toBeGreaterThan(5)
    expect(others.reduce((total, { dollars }) => total + (dollars[column] ?? 0), 0)).toBeCloseTo(all ?? 0, 5)
  })
})

describe('the construct', () => {
  const files = readdirSync(join(ROOT, 'lib/constructs'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => `lib/constructs/${name}`)

  test('and its parts document the default of every optional prop', () => {
    const optional = files.flatMap((file) =>
      [...read(file).matchAll(/(\/\*\*(?:(?!\*\/)[^])*\*\/\n)? {2}readonly (\w+)\?:/g)].map(([, comment, prop]) => ({
        prop: `${file}: ${prop ?? ''}`,
        comment: comment ?? '',
      })),
    )
    expect(optional.length).toBeGreaterThan(30)
    expect(optional.filter(({ comment }) => !comment.includes('@default')).map(({ prop }) => prop)).toEqual([])
  })

  test('fits into another CDK app as shown in docs/operations/deploy.md', () => {
    const shown = /```ts\n(.*?)```/s.exec(sectionOf('docs/operations/deploy.md', 'In your own app'))?.[1] ?? ''
    expect(shown.replace('./tooltrail/lib/', '../../lib/')).toBe(read('test/lib/own-app.ts'))
    execFileSync(process.execPath, [join(ROOT, 'test/lib/own-app.ts')], {
      cwd: folder,
      stdio: 'pipe',
      env: {
        CDK_OUTDIR: join(folder, 'out'),
        CDK_VALIDATION: 'false',
        CDK_CONTEXT_JSON: JSON.stringify({ 'aws:cdk:bundling-stacks': [] }),
      },
    })
    expect(readFileSync(join(folder, 'out/Assistant.template.json'), 'utf8')).toContain(
      'AWS::OpenSearchService::Domain',
    )
  })
})

describe('docs/operations', () => {
  const pages = readdirSync(join(ROOT, 'docs/operations')).filter((name) => name.endsWith('.md'))
  const whole = pages.map((name) => read(`docs/operations/${name}`).replaceAll('\\\n', ' ')).join('\n')
  const text = whole
    .replaceAll(/\$\(\(.*?\)\)|\$\(date [^)]*\)/g, 'x')
    .replaceAll(/(--[\w-]+) ("[^"\n]*"|'[^'\n]*')/g, '$1 x')
  /**
   * Finds commands that begin with `start`. Returns the arguments of each, without comments and without the rest of the sentence.
   */
  const argumentsOf = (start: string): string[][] =>
    [...text.matchAll(new RegExp(`${RegExp.escape(start)}([^\\n\`#|;)]*)`, 'g'))].map(([, rest = '']) =>
      rest
        .replaceAll(/<[^>]*>/g, 'x')
        .split(' ')
        .filter((word) => word !== ''),
    )
  const optionsOf = (words: readonly string[]): string[] => words.filter((word) => word.startsWith('-'))

  test.each(['status', 'rebuild', 'redrive', 'smoke'])(
    'names only options of %s that the usage text of the command lists',
    (command) => {
      const usage = execFileSync(process.execPath, ['functions/cli/tooltrail.ts', command, '--help'], {
        cwd: ROOT,
        encoding: 'utf8',
      })
      const commands = argumentsOf(`npm run ${command} -- `)
      expect(commands.length).toBeGreaterThan(0)
      for (const option of commands.flatMap(optionsOf)) expect(usage).toContain(option)
    },
  )

  test('names commands of keys that are accepted', async () => {
    const commands = [
      ...argumentsOf('npm run keys -- --env dev '),
      ...argumentsOf('npm run keys --silent -- --env dev '),
    ]
    expect(new Set(commands.map(([name]) => name))).toEqual(new Set(['create', 'list', 'cap', 'revoke']))
    for (const [command = '', ...words] of commands) {
      if (['cap', 'revoke'].includes(command) && words.length === 0) continue
      const dependencies = { keys: createMemoryKeys().keys, clock: createManualClock() }
      await runKeys(dependencies, ['create', '--tenant', 'acme', '--scope', 'read'])
      const { output } = await runKeys(dependencies, ['list'])
      const [id = ''] = output.split(' ')
      await runKeys(dependencies, [command, ...(words[0] === 'x' ? [id, ...words.slice(1)] : words)])
    }
  })

  test('names only settings of deploy that the app reads', () => {
    const contexts = argumentsOf('npm run deploy -- ').flatMap((words) =>
      words.flatMap((word, place) => (word === '-c' ? [words[place + 1]?.split('=')[0]] : [])),
    )
    const known = [...read('bin/app.ts').matchAll(/tryGetContext\('(\w+)'\)/g)].map(([, name]) => name)
    expect(new Set(contexts).isSubsetOf(new Set(known))).toBe(true)
    expect(contexts).toContain('canary')
  })

  test('names only operations and options that the services of AWS have', () => {
    const clients = {
      cloudformation: 'cloudformation',
      dynamodb: 'dynamodb',
      logs: 'cloudwatch-logs',
      secretsmanager: 'secrets-manager',
      s3api: 's3',
    }
    const checked = Object.entries(clients).flatMap(([service, client]) => {
      const folder = join(ROOT, `node_modules/@aws-sdk/client-${client}/dist-types/models`)
      const types = readdirSync(folder)
        .filter((name) => name.startsWith('models_'))
        .map((name) => readFileSync(join(folder, name), 'utf8'))
        .join('\n')
      return argumentsOf(`aws ${service} `)
        .filter(([operation]) => operation !== 'wait')
        .map(([operation = '', ...words]) => {
          const input =
            new RegExp(`interface ${toPascal(operation)}(?:Input|Request) [^]*?\\n}`, 'i').exec(types)?.[0] ?? ''
          const unknown = optionsOf(words).filter((option) => !isMember(input, option))
          return { operation, unknown: input === '' ? ['the operation'] : unknown }
        })
    })
    expect(checked.length).toBeGreaterThan(10)
    expect(checked.filter(({ unknown }) => unknown.length > 0)).toEqual([])
  })
})

const toPascal = (name: string): string => name.replaceAll(/(?:^|-)(\w)/g, (_, letter: string) => letter.toUpperCase())

/** Whether an option of the AWS CLI is a member of an operation's input, or an option of every command. */
const isMember = (input: string, option: string): boolean =>
  ['--query', '--output'].includes(option) ||
  new RegExp(`^ +${toPascal(option.replace(/^--(?:no-)?/, ''))}\\??:`, 'im').test(input)
