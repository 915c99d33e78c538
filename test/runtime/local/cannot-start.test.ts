import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { expect, test } from 'vitest'

const ROOT = join(import.meta.dirname, '../../..')
/** Nothing listens there. */
const NOBODY = 'http://127.0.0.1:9'

test.each<[string, Readonly<Record<string, string>>, RegExp]>([
  [
    'a folder in which nothing can be made',
    { TOOLTRAIL_DATA: '/proc/tooltrail/data' },
    /TOOLTRAIL_DATA: .* cannot be used/,
  ],
  [
    'a store that does not respond',
    {
      TOOLTRAIL_BACKEND: 'aws',
      DYNAMODB_ENDPOINT: NOBODY,
      S3_ENDPOINT: NOBODY,
      SQS_ENDPOINT: NOBODY,
      OPENSEARCH_ENDPOINT: NOBODY,
      AWS_REGION: 'eu-central-1',
      AWS_ACCESS_KEY_ID: 'x',
      AWS_SECRET_ACCESS_KEY: 'x',
    },
    /The storage does not respond: .*ECONNREFUSED/,
  ],
])('%s ends the program with one line', { timeout: 30_000 }, (_name, variables, line) => {
  const env = { PATH: process.env['PATH'], PORT: '0', ...variables }
  const args = ['functions/handlers/local.ts']
  const { status, stdout, stderr } = spawnSync(process.execPath, args, {
    cwd: ROOT,
    env,
    encoding: 'utf8',
    timeout: 20_000,
  })
  expect({ status, stdout }).toEqual({ status: 1, stdout: '' })
  expect(stderr).toMatch(line)
  expect(stderr.trim().split('\n')).toHaveLength(1)
})
