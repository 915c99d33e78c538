import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'

const folder = mkdtempSync(join(tmpdir(), 'tooltrail-import-refused-'))
beforeAll(() => {
  for (let file = 0; file < 20; file++)
    writeFileSync(join(folder, `${file}.jsonl`), '{"role": "user", "content": "hi"}\n')
})
afterAll(() => rmSync(folder, { recursive: true }))

/** Runs the command. Returns its exit code and its output. */
const command = (...words: string[]) =>
  new Promise<string>((resolve) => {
    const args = [fileURLToPath(new URL('../../../functions/cli/tooltrail.ts', import.meta.url)), 'import', ...words]
    execFile(process.execPath, args, (error, stdout, stderr) => resolve(`${error?.code ?? 0} ${stdout}${stderr}`))
  })

/** Runs the command against a server with this response. Returns the output; `asked` gets the methods of all requests. */
async function against(status: number, type: string, body: string, asked: string[] = []): Promise<string> {
  const server = createServer((request, response) => {
    request.resume()
    asked.push(request.method ?? '')
    response.writeHead(status, { 'content-type': type }).end(body)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  try {
    return await command('openai', folder, '--url', `http://127.0.0.1:${(server.address() as AddressInfo).port}/`)
  } finally {
    server.close()
  }
}

const problem = (status: number, code: string, detail: string): [number, string, string] => [
  status,
  'application/problem+json',
  JSON.stringify({ type: `urn:tooltrail:problem:${code}`, title: 'No', status, detail, instance: '', request_id: '' }),
]

test('an error that concerns every file is reported once, and ends the command', async () => {
  expect(await against(...problem(401, 'unauthorized', 'an API key is needed'))).toBe(
    '1 an API key is needed; give one with --key\n',
  )
  expect(await against(...problem(403, 'forbidden', 'this key lacks the scope write'))).toBe(
    '1 this key lacks the scope write\n',
  )
  expect(await against(...problem(404, 'not_found', 'there is nothing at this address'))).toBe(
    '1 there is nothing at this address; name the address of a program with --url\n',
  )
  expect(await against(200, 'text/html', '<h1>Hello</h1>\n')).toBe(
    '1 the response is not one of Tooltrail: 200 <h1>Hello</h1>; name the address of a program with --url\n',
  )
})

test('a key with only the scope write is rejected before anything is stored', async () => {
  const asked: string[] = []
  const reported = await against(...problem(403, 'scope_missing', 'this key lacks the scope read'), asked)
  expect(reported).toBe('1 this key lacks the scope read: an import needs a key with the scopes read and write\n')
  expect(asked).toEqual(['GET'])
})

test('an error of one file is reported with the file’s name, and the other files are imported', async () => {
  const reported = await against(...problem(422, 'invalid_request', 'the request is not valid'))
  expect(reported).toMatch(/^1 0 files read; new: 0 messages in 0 sessions\n/)
  expect(reported.match(/\d+\.jsonl: the request is not valid\n/gu)).toHaveLength(20)
})

test('kinds without a known folder need a path', async () => {
  expect(await command('openai')).toMatch(/^2 Name the files or folders/)
})

test.each(['ftp://x', 'x', 'http://me:s3cret@127.0.0.1:9', 'http://127.0.0.1:9/?x=1'])(
  'an invalid address of a program is a mistake on the command line: %s',
  async (url) => {
    const reported = await command('openai', folder, '--url', url)
    expect(reported).toMatch(/^2 --url must be (?:an http or https address|the address alone)/)
    expect(reported).not.toContain('s3cret')
  },
)
