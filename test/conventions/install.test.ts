import { spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { build } from 'esbuild'
import { afterAll, describe, expect, test } from 'vitest'

const ROOT = resolve(import.meta.dirname, '../..')
const readJson = (path: string): unknown => JSON.parse(readFileSync(join(ROOT, path), 'utf8'))
const { scripts, dependencies, optionalDependencies } = readJson('package.json') as Record<
  'scripts' | 'dependencies' | 'optionalDependencies',
  Readonly<Record<string, string>>
>
const { packages } = readJson('package-lock.json') as {
  readonly packages: Readonly<Record<string, { readonly dev?: boolean; readonly hasInstallScript?: boolean }>>
}
/** The folders that `npm ci --omit=dev` creates. */
const forRunning = Object.keys(packages).filter((path) => path !== '' && packages[path]?.dev !== true)

/** Returns the size of a folder on disk, in bytes: 0 for a package that is installed only on other platforms. */
function sizeOf(folder: string): number {
  const own = (path: string): number => (statSync(path, { throwIfNoEntry: false })?.blocks ?? 0) * 512
  if (own(folder) === 0) return 0
  const entries = readdirSync(folder, { withFileTypes: true }).filter(({ name }) => name !== 'node_modules')
  return entries.reduce(
    (sum, entry) => sum + (entry.isDirectory() ? sizeOf(join(folder, entry.name)) : own(join(folder, entry.name))),
    own(folder),
  )
}

describe('the installation for running the program', () => {
  test('has at most 350 MB', () => {
    const bytes = forRunning.reduce((sum, path) => sum + sizeOf(join(ROOT, path)), 0)
    expect(bytes / 1024 ** 2).toBeLessThanOrEqual(350)
    expect(bytes / 1024 ** 2).toBeGreaterThan(100) // size of the pinned Node
  })

  test('runs no install script of a package', () =>
    expect(forRunning.filter((path) => packages[path]?.hasInstallScript === true)).toEqual([]))

  test('includes every package that the code of functions/ imports', async () => {
    const entries = ['functions/handlers', 'functions/cli', 'functions/cli/commands'].flatMap((folder) =>
      readdirSync(join(ROOT, folder)).map((name) => join(folder, name)),
    )
    const { metafile } = await build({
      absWorkingDir: ROOT,
      entryPoints: entries.filter((path) => path.endsWith('.ts')),
      outdir: 'nowhere',
      write: false,
      metafile: true,
      bundle: true,
      format: 'esm',
      platform: 'node',
      packages: 'external',
    })
    const named = Object.values(metafile.inputs).flatMap(({ imports }) =>
      imports.flatMap(({ external, path }) =>
        external === true && !path.startsWith('node:') ? [/^(?:@[^/]+\/)?[^/]+/.exec(path)?.[0]] : [],
      ),
    )
    expect(named).toContain('hono')
    expect([...new Set(named)].filter((name) => name === undefined || dependencies[name] === undefined)).toEqual([])
  })

  test('has exact versions', () => {
    for (const version of Object.values({ ...dependencies, ...optionalDependencies }))
      expect(version).toMatch(/^\d+\.\d+\.\d+$/)
  })
})

describe('the pinned Node', () => {
  const folder = mkdtempSync(join(tmpdir(), 'tooltrail-node-'))
  afterAll(() => rmSync(folder, { recursive: true }))
  cpSync(join(ROOT, 'scripts'), join(folder, 'scripts'), { recursive: true })
  const link = join(folder, 'node_modules/.bin/node')
  const install = () => spawnSync(process.execPath, [join(folder, 'scripts/link-node.mjs')], { encoding: 'utf8' })

  test.each(Object.keys(optionalDependencies))(
    'from %s is linked again by an install if npm has removed the link',
    (name) => {
      rmSync(join(folder, 'node_modules'), { recursive: true, force: true })
      mkdirSync(join(folder, 'node_modules', name, 'bin'), { recursive: true })
      mkdirSync(join(folder, 'node_modules/.bin'))
      writeFileSync(join(folder, 'node_modules', name, 'bin/node'), name)
      expect(install()).toMatchObject({ status: 0, stderr: '' })
      expect(readFileSync(link, 'utf8')).toBe(name)
      expect(install()).toMatchObject({ status: 0, stderr: '' })
    },
  )

  test('may be missing without failing the install', () => {
    rmSync(join(folder, 'node_modules'), { recursive: true, force: true })
    expect(install()).toMatchObject({ status: 0, stderr: '' })
  })
})

describe('an installation without development packages', () => {
  const folder = mkdtempSync(join(tmpdir(), 'tooltrail-install-'))
  afterAll(() => rmSync(folder, { recursive: true }))
  cpSync(join(ROOT, 'scripts'), join(folder, 'scripts'), { recursive: true })
  const guard = join(folder, 'scripts/require-everything.mjs')
  const run = () =>
    spawnSync(process.execPath, ['--import', guard, '-e', 'console.log("went on")'], { encoding: 'utf8' })

  test('makes a command print one line with the missing package and the fix, and run nothing', () => {
    writeFileSync(join(folder, 'package.json'), JSON.stringify({ devDependencies: { vitest: '5', knip: '6' } }))
    mkdirSync(join(folder, 'node_modules/knip'), { recursive: true })
    writeFileSync(join(folder, 'node_modules/knip/package.json'), '{}')
    const { status, stdout, stderr } = run()
    expect([status, stdout]).toEqual([1, ''])
    expect(stderr).toMatch(/^[^\n]* vitest\. [^\n]*: npm ci\n$/)
  })

  test('runs a command that needs no further package', () => {
    writeFileSync(join(folder, 'package.json'), JSON.stringify({ devDependencies: { knip: '6' } }))
    expect(run()).toMatchObject({ status: 0, stdout: 'went on\n', stderr: '' })
  })

  // The check is no `pretest` script, because npm skips such scripts if `ignore-scripts` is set.
  const alone = /^(?:exec )?node --import \.\/scripts\/require-node\.mjs [^&|;]*functions\/[\w/-]+\.ts(?: \w+)?$/
  const others = Object.keys(scripts).filter(
    (name) => !['check', 'postinstall'].includes(name) && !alone.test(scripts[name] ?? ''),
  )
  test.each(others)('is detected by npm run %s before the script’s own command starts', (name) => {
    expect(scripts[name]).toMatch(
      /^node (?:scripts\/require-everything\.mjs && |--import \.\/scripts\/require-everything\.mjs )/,
    )
  })
})
