/* Evidence, house: If the data folder or a store cannot be used, the program ends with one line. */
/* Evidence, house: A wrong variable or field of `agents.json` is named in one line. */
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { expect, test } from 'vitest'

const ROOT = join(import.meta.dirname, '../../..')
/** A port without a listener. */
const CLOSED_PORT = 'http://127.0.0.1:9'

const storesAt = (address: string): Readonly<Record<string, string>> => ({
  TOOLTRAIL_BACKEND: 'aws',
  DYNAMODB_ENDPOINT: address,
  S3_ENDPOINT: address,
  SQS_ENDPOINT: address,
  OPENSEARCH_ENDPOINT: address,
  AWS_REGION: 'eu-central-1',
  AWS_ACCESS_KEY_ID: 'x',
  AWS_SECRET_ACCESS_KEY: 'x',
})

test.each<[string, Readonly<Record<string, string>>, RegExp]>([
  [
    'a folder in which nothing can be made',
    { TOOLTRAIL_DATA: '/proc/tooltrail/data' },
    /TOOLTRAIL_DATA: .* cannot be used/,
  ],
  ['a store that does not respond', storesAt(CLOSED_PORT), /The storage does not respond: .*ECONNREFUSED/],
])('%s ends the program with one line', (_name, variables, line) => expectOneLine(variables, line))

test('each of several wrong settings is reported in one line', () => {
  const env = { PATH: process.env['PATH'], PORT: 'x', SLACK_API_URL: 'foo' }
  const { stderr } = spawnSync(process.execPath, ['functions/handlers/local.ts'], { cwd: ROOT, env, encoding: 'utf8' })
  expect(stderr.trim().split('\n')).toEqual([
    expect.stringMatching(/^Tooltrail cannot start\. PORT: must be /),
    expect.stringMatching(/^Tooltrail cannot start\. SLACK_API_URL: must be /),
  ])
})

test('a store that accepts connections but never responds ends the program with one line', async () => {
  // This server never responds: it shares the thread of the test, which is blocked until the program ends.
  const silent = createServer().listen(0, '127.0.0.1')
  await once(silent, 'listening')
  try {
    const address = silent.address()
    if (address === null || typeof address === 'string') throw new Error('it has no port')
    const url = `http://127.0.0.1:${address.port}`
    expectOneLine(storesAt(url), new RegExp(`^Tooltrail cannot start. DynamoDB at ${url} does not respond`))
  } finally {
    silent.close()
  }
})

test('a store that refuses the credentials ends the program with one line', async () => {
  // The server needs a separate process, because the thread of the test is blocked until the program ends.
  const refusing = `require('node:http').createServer((_, response) => {
    response.writeHead(400, { 'content-type': 'application/x-amz-json-1.0' })
    response.end(JSON.stringify({ __type: 'UnrecognizedClientException', message: 'the token is invalid' }))
  }).listen(0, '127.0.0.1', function () { console.log(this.address().port) })`
  const server = spawn(process.execPath, ['-e', refusing], { stdio: ['ignore', 'pipe', 'inherit'] })
  try {
    const [port] = (await once(server.stdout, 'data')) as [Buffer]
    const url = `http://127.0.0.1:${Number(port.toString())}`
    expectOneLine(storesAt(url), /The storage refuses: UnrecognizedClientException: the token is invalid/)
  } finally {
    server.kill()
  }
})

function expectOneLine(variables: Readonly<Record<string, string>>, line: RegExp): void {
  const env = { PATH: process.env['PATH'], PORT: '0', ...variables }
  const args = ['functions/handlers/local.ts']
  const { status, stdout, stderr } = spawnSync(process.execPath, args, {
    cwd: ROOT,
    env,
    encoding: 'utf8',
    timeout: 50_000,
  })
  expect({ status, stdout }).toEqual({ status: 1, stdout: '' })
  expect(stderr).toMatch(line)
  expect(stderr.trim().split('\n')).toHaveLength(1)
}
