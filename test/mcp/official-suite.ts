import { execFile } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'

/** The official conformance suite of the Model Context Protocol, in the version of package.json. */
const SUITE = resolve(import.meta.dirname, '../../node_modules/@modelcontextprotocol/conformance/dist/index.js')

/** Protocol revisions that Tooltrail supports. */
const REVISIONS = ['2025-06-18', '2025-11-25', '2026-07-28']

export interface Scenario {
  readonly name: string
  readonly revision: string
}

/** Scenarios that are not run, as patterns of their names, each with its reason. */
export type Omitted = readonly (readonly [names: RegExp, reason: string])[]

/** One check of a scenario, as the suite reports it. */
interface Check {
  readonly id: string
  readonly status: 'SUCCESS' | 'FAILURE' | 'WARNING' | 'INFO' | 'SKIPPED'
}

/**
 * Runs the suite in an empty folder. The suite cannot send a key, so it needs a server that accepts requests without one.
 * Failed checks are returned, not thrown.
 */
async function suite(words: readonly string[]): Promise<{ readonly text: string; readonly checks: readonly Check[] }> {
  const folder = mkdtempSync(join(tmpdir(), 'tooltrail-conformance-'))
  try {
    const argv = [SUITE, ...words, ...(words[0] === 'list' ? [] : ['--output-dir', folder])]
    const text = await promisify(execFile)(process.execPath, argv, { cwd: folder }).then(
      ({ stdout, stderr }) => stdout + stderr,
      (error: Error & { stdout?: string; stderr?: string }) => `${error.stdout}${error.stderr}${error.message}`,
    )
    const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((file) =>
      file.endsWith('checks.json'),
    )
    const checks = files.flatMap((file) => JSON.parse(readFileSync(join(folder, file), 'utf8')) as Check[])
    return { text, checks }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Lists the scenarios that are not omitted, once for each of their revisions. */
export async function scenariosOf(kind: 'server' | 'client', omitted: Omitted): Promise<Scenario[]> {
  const { text } = await suite(['list', `--${kind}`])
  return [...text.matchAll(/^ +- (\S+) \[(.*)\]$/gm)]
    .filter(([, name = '']) => !omitted.some(([names]) => names.test(name)))
    .flatMap(([, name = '', listed = '']) =>
      REVISIONS.filter((revision) => listed.split(',').includes(revision)).map((revision) => ({ name, revision })),
    )
}

/** Runs a scenario. Returns the number of checks that passed, and the ids of the others. */
export async function runScenario(
  kind: 'server' | 'client',
  { name, revision }: Scenario,
  words: readonly string[],
): Promise<{ readonly passed: number; readonly failed: string[]; readonly text: string }> {
  const { text, checks } = await suite([kind, ...words, '--scenario', name, '--spec-version', revision])
  const failed = checks.filter(({ status }) => status === 'FAILURE' || status === 'WARNING')
  const passed = checks.filter(({ status }) => status === 'SUCCESS').length
  return { passed, failed: failed.map(({ id }) => id).toSorted(), text }
}
