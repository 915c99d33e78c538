/* Evidence, house: Commands end with documented exit codes, and print their usage for missing arguments. */
import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'

function run(
  [command = '', ...rest]: readonly string[],
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
    execFile(process.execPath, [programOf(command), ...rest], { env }, (failure, out, error) => {
      resolve({ code: failure === null ? 0 : Number(failure.code ?? -1), out, error })
    })
  })
}

/** The file of a command that is a separate program. */
const programOf = (command: string): string =>
  `functions/cli/commands/${command === 'status' ? 'environment-status' : command}.ts`

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
    expect(out).toContain(`npx tooltrail ${command}`)
    expect(out).toContain('--env <environment>')
  })

  test.each([
    ['omits the environment’s name', 2, ['rebuild', '--env'], '--env needs the name of an environment, such as dev'],
    ['has an invalid environment name', 2, ['redrive', '--env=../x'], '--env needs the name of an environment'],
    ['names two environments', 2, ['status', '--env', 'dev', '--env', 'prod'], '--env was given twice'],
    ['has an unknown option', 2, ['status', '--env', 'dev', '--cuont'], 'unexpected: --cuont'],
    ['has no region', 1, ['status', '--env', 'dev'], 'No AWS region was found: set AWS_REGION.'],
    [
      'has no credentials',
      1,
      ['keys', '--env', 'dev', 'list'],
      'No AWS credentials were found: set AWS_PROFILE',
      REGION,
    ],
    ['reaches no service', 1, ['redrive', '--env', 'dev'], 'Could not reach a service: connect ECONNREFUSED', OFFLINE],
    ['names no environment', 2, ['status', '--count'], 'name the environment: --env <environment>'],
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
    expect(error).toContain('--env is not for this command: name a program with --url. ')
  })
})

describe('a command without its arguments', () => {
  test.each([
    ['keys', 'name what to do: create, list, cap or revoke'],
    ['slack', 'name what to do: manifest or check'],
    ['webhook', 'name what to do: test'],
    ['import', 'name the kind of the files: '],
    ['smoke', 'name the address of the API: '],
    ['status', 'name the environment: '],
    ['redrive', 'name the environment: '],
  ])('%s prints one line with the missing argument, and then its usage', async (command, reported) => {
    const { code, out, error } = await run([command])
    const usage = (await run([command, '--help'])).out
    const [line = '', ...rest] = error.split('\n\n')
    expect({ code, out, rest: rest.join('\n\n') }).toEqual({ code: 2, out: '', rest: usage })
    expect(line).toMatch(/^[^\n]+\.$/)
    expect(line).toContain(reported)
  })
})

describe('npm run webhook', () => {
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
