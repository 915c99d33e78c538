import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { environmentNamed, ofType, synthesise } from './synthesise.ts'

const ROOT = resolve(import.meta.dirname, '../..')
const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8')
const folder = mkdtempSync(join(tmpdir(), 'tooltrail-own-app-'))
afterAll(() => rmSync(folder, { recursive: true }))

const sectionOf = (page: string, title: string): string =>
  read(page).split(`\n## ${title}\n`)[1]?.split('\n## ')[0] ?? ''

test('docs/operations/alarms.md says of every alarm what it means and what to do, and of no other', () => {
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

  test('counts the metrics of the alarms and the rules of the firewall as the templates have them', () => {
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

  test('and its parts say what every prop is that is left out', () => {
    const optional = files.flatMap((file) =>
      [...read(file).matchAll(/(\/\*\*(?:(?!\*\/)[^])*\*\/\n)? {2}readonly (\w+)\?:/g)].map(([, comment, prop]) => ({
        prop: `${file}: ${prop ?? ''}`,
        comment: comment ?? '',
      })),
    )
    expect(optional.length).toBeGreaterThan(30)
    expect(optional.filter(({ comment }) => !comment.includes('@default')).map(({ prop }) => prop)).toEqual([])
  })

  test('fits into another CDK app as docs/operations/deploy.md shows it', () => {
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
