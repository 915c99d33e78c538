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

test('docs/operations.md says of every alarm what it means and what to do, and of no other', () => {
  const rows = [...sectionOf('docs/operations.md', 'Alarms').matchAll(/^\| (`.*?) \| (.+?) \| (.+?) \|$/gm)]
  const explained = rows.flatMap(([, names]) => [...(names ?? '').matchAll(/`([\w-]+)`/g)].map(([, name]) => name))
  const alarms = ['dev', 'prod'].flatMap((name) =>
    ofType(synthesise(environmentNamed(name)), 'AWS::CloudWatch::Alarm').map(([, { Properties }]) =>
      String(Properties['AlarmName']).replace(`tooltrail-${name}-`, ''),
    ),
  )
  expect(new Set(explained)).toEqual(new Set(alarms))
  expect(explained).toHaveLength(new Set(alarms).size)
})

describe('the construct', () => {
  const files = readdirSync(join(ROOT, 'lib/constructs')).map((name) => `lib/constructs/${name}`)

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

  test("goes into somebody else's app as docs/deploy.md shows it", () => {
    const shown = /```ts\n(.*?)```/s.exec(sectionOf('docs/deploy.md', 'In an app of your own'))?.[1] ?? ''
    expect(shown.replace('./tooltrail/lib/', '../../lib/')).toBe(read('test/infra/own-app.ts'))
    execFileSync(process.execPath, [join(ROOT, 'test/infra/own-app.ts')], {
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
