/* Evidence, house: Commands end with documented exit codes, and print their usage for missing arguments. */
import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'

function run(
  words: readonly string[],
  variables: Readonly<Record<string, string>> = {},
): Promise<{ code: number; out: string; error: string }> {
  const env = {
    PATH: process.env['PATH'],
    NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'],
    HOME: '/nonexistent',
    AWS_EC2_METADATA_DISABLED: 'true',
    ...variables,
  }
  return new Promise((resolve) => {
    execFile(process.execPath, ['functions/cli/tooltrail.ts', ...words], { env }, (failure, out, error) => {
      resolve({ code: failure === null ? 0 : Number(failure.code ?? -1), out, error })
    })
  })
}

const REGION: Readonly<Record<string, string>> = { AWS_REGION: 'eu-central-1' }
const OFFLINE = {
  ...REGION,
  AWS_ACCESS_KEY_ID: 'local',
  AWS_SECRET_ACCESS_KEY: 'local',
  AWS_ENDPOINT_URL: 'http://127.0.0.1:1',
}

describe('a command for an environment', () => {
  test.each(['keys', 'rebuild', 'redrive', 'status'])('%s prints its usage and does nothing', async (command) => {
    const { code, out, error } = await run([command, '--env', 'dev', '--help'])
    expect({ code, error }).toEqual({ code: 0, error: '' })
    expect(out).toContain(`Usage: tooltrail ${command} `)
    expect(out).toContain('--env <environment>')
  })

  test.each([
    ['omits the environment’s name', 2, ['rebuild', '--env'], "error: option '--env <environment>' argument missing."],
    [
      'has an invalid environment name',
      2,
      ['redrive', '--env=../x'],
      "'../x' is invalid. It must be the name of an environment, such as dev.",
    ],
    ['names two environments', 2, ['status', '--env', 'dev', '--env', 'prod'], '--env was given twice'],
    [
      'has an unknown option',
      2,
      ['status', '--env', 'dev', '--cuont'],
      "error: unknown option '--cuont' (Did you mean --count?).",
    ],
    ['has no region', 1, ['status', '--env', 'dev'], 'No AWS region was found: set AWS_REGION.'],
    [
      'has no credentials',
      1,
      ['keys', '--env', 'dev', 'list'],
      'No AWS credentials were found: set AWS_PROFILE',
      REGION,
    ],
    ['reaches no service', 1, ['redrive', '--env', 'dev'], 'Could not reach a service: connect ECONNREFUSED', OFFLINE],
    ['names no environment', 2, ['redrive'], "error: required option '--env <environment>' not specified."],
    ['has an address', 2, ['rebuild', '--url', 'http://a'], 'rebuild takes no --url. See: tooltrail rebuild --help'],
  ])('that %s prints one line with the problem', async (_name, expected, words, reported, variables = {}) => {
    const { code, out, error } = await run(words, variables)
    expect({ code, out }).toEqual({ code: expected, out: '' })
    expect(error).toContain(reported)
    expect(error).toMatch(/^[^\n]+\n$/)
  })
})

describe('a command that accepts no environment', () => {
  test.each([
    ['import', 'openai', 'package.json'],
    ['smoke', '--url', 'http://127.0.0.1:9'],
    ['slack', 'manifest'],
    ['webhook', 'test', 'issues'],
  ])('%s rejects --env', async (...words) => {
    const { code, out, error } = await run([...words, '--env', 'prod'])
    expect({ code, out }).toEqual({ code: 2, out: '' })
    expect(error).toMatch(/^error: unknown option '--env'.* Run with --help to see what there is\.\n$/)
  })
})

describe('a command without its arguments', () => {
  test.each(['keys', 'slack', 'webhook'])('%s prints its usage to standard error', async (command) => {
    const { code, out, error } = await run([command])
    const usage = (await run([command, '--help'])).out
    expect({ code, out, error }).toEqual({ code: 2, out: '', error: usage })
  })

  test.each([
    ['import', "missing required argument 'kind'"],
    ['redrive', "required option '--env <environment>' not specified"],
    ['smoke', 'Name the address of the API: tooltrail smoke --url'],
    ['webhook test', "missing required argument 'name'"],
    ['keys cap', "missing required argument 'id'"],
    ['keys create', '--tenant is missing: it must be 1–64 of a-z 0-9 -'],
  ])('%s prints one line with the missing argument', async (command, reported) => {
    const { code, out, error } = await run(command.split(' '))
    expect({ code, out }).toEqual({ code: 2, out: '' })
    expect(error).toContain(reported)
    expect(error).toMatch(/^[^\n]+\n$/)
  })
})

test('a usage text shows npx before the command if npx runs the command', async () => {
  expect((await run(['keys', '--help'], { npm_command: 'exec' })).out).toContain('Usage: npx tooltrail keys ')
  expect((await run(['--help'], { npm_command: 'exec' })).out).toContain('Usage: npx tooltrail [options]')
})

test.each(['bash', 'zsh', 'fish'])('completion prints a script for %s', async (shell) => {
  const { code, out } = await run(['completion', shell])
  expect(code).toBe(0)
  expect(out).toContain('tooltrail complete --')
})

test('completion offers commands, options and the values of arguments', async () => {
  const offered = async (...words: string[]): Promise<string[]> =>
    (await run(['complete', '--', ...words])).out.split('\n').map((line) => line.split('\t')[0] ?? '')
  expect(await offered('')).toEqual(expect.arrayContaining(['chat', 'search', 'import', 'keys']))
  expect(await offered('keys', '')).toEqual(expect.arrayContaining(['create', 'list', 'cap', 'revoke']))
  expect(await offered('import', '')).toEqual(expect.arrayContaining(['claude-code', 'codex']))
  expect(await offered('search', '--')).toEqual(expect.arrayContaining(['--folder', '--since']))
})

describe('webhook test', () => {
  test('exits with 3 if no program responds', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'tooltrail-webhook-'))
    const path = join(folder, 'agents.json')
    const issues = { verify: { preset: 'bearer', secrets: ['${secret:ISSUES}'] }, text: 'x', session: 's' }
    writeFileSync(path, JSON.stringify({ agents: {}, webhooks: { issues } }))
    const variables = { TOOLTRAIL_AGENTS: path, ISSUES: 'word' }
    const { code, error } = await run(['webhook', 'test', 'issues', '--url', 'http://127.0.0.1:9'], variables)
    rmSync(folder, { recursive: true })
    expect([code, error]).toEqual([
      3,
      'nothing responds at http://127.0.0.1:9: start the program, or name its address with --url\n',
    ])
  })
})
