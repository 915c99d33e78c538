import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { globSync, readFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { parseArgs } from 'node:util'

const USAGE = `Runs the tests whose names contain field/<case>/<variant>, and prints the table case × wire × engine.

  npm run test:field -- [<case>] [--project <name>]...

<case>: runs one case, for example 19. --project: runs tests of these projects of Vitest only.
Tests of the project engines need Java, those of browser Chromium. Exit code 1: a test failed, or a case has no test.
`
const ROOT = resolve(import.meta.dirname, '../..')
/** The test of the table itself. It contains names that look like names of field tests. */
const OWN_TEST = 'test/conventions/field-table.test.ts'

interface Options {
  readonly only: string | undefined
  readonly projects: readonly string[]
}

function readCommandLine(): Options {
  const { values, positionals } = parseArgs({
    options: { project: { type: 'string', multiple: true }, help: { type: 'boolean', short: 'h' } },
    allowPositionals: true,
  })
  if (values.help === true) {
    process.stdout.write(USAGE)
    process.exit()
  }
  const [only, ...more] = positionals
  if (more.length > 0 || (only !== undefined && !/^[\p{L}\p{N}_-]+$/u.test(only)))
    throw new Error(`'${positionals.join(' ')}' is not one case`)
  return { only, projects: values.project ?? ['*'] }
}

/**
 * Finds the test files with field tests. Such a file contains the name of a field test, or imports a module of `test`
 * that contains one. Only texts are searched, because loading all test files would take minutes.
 */
function fieldFiles(): string[] {
  const files = globSync('{test,audit}/**/*.ts', { cwd: ROOT }).filter((file) => file !== OWN_TEST)
  const texts = new Map(files.map((file) => [file, readFileSync(join(ROOT, file), 'utf8')]))
  const found = files.filter((file) => file.startsWith('test/') && texts.get(file)?.includes('field/'))
  // The loop also visits the files that it appends. So it finds importers of importers.
  for (const file of found)
    for (const one of files) if (!found.includes(one) && imports(one, texts.get(one), file)) found.push(one)
  return found.filter((file) => file.endsWith('.test.ts')).toSorted()
}

const imports = (file: string, text: string | undefined, imported: string): boolean =>
  [...(text ?? '').matchAll(/ from '(\.[^']+)'/g)].some(([, path]) => join(dirname(file), path ?? '') === imported)

async function run({ only, projects }: Options): Promise<number> {
  const files = fieldFiles()
  if (files.length === 0) {
    console.log('no test file contains field/')
    return 1
  }
  const name = only === undefined ? String.raw`\bfield/` : String.raw`\bfield/${only}(?:/|\b(?!-))`
  const argv = [
    'run',
    '-t',
    name,
    '--reporter=./audit/field/field-reporter.ts',
    ...projects.map((one) => `--project=${one}`),
  ]
  const child = spawn(process.execPath, [join(ROOT, 'node_modules/vitest/vitest.mjs'), ...argv, ...files], {
    cwd: ROOT,
    stdio: 'inherit',
    env: { ...process.env, FIELD_CASE: only ?? '', FIELD_PROJECTS: projects.includes('*') ? 'all' : 'some' },
  })
  const [code] = (await once(child, 'exit')) as [number | null]
  return code ?? 1
}

try {
  process.exitCode = await run(readCommandLine())
} catch (error) {
  process.stderr.write(`${(error as Error).message.replace(/\.?$/, '.')} Run with --help to see what it takes.\n`)
  process.exitCode = 2
}
