/* Evidence, clients: MCP server and client pass the official conformance suite where its scenarios apply. */
import { execFile } from 'node:child_process'
import { join, resolve } from 'node:path'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { serveHttp } from '../../functions/runtime/local/http-server.ts'
import type { HttpServer } from '../../functions/runtime/local/http-server.ts'
import { openHttpHarness } from '../http/harness.ts'
import type { HttpHarness } from '../http/harness.ts'

const CONFORMANCE = resolve(import.meta.dirname, '../../node_modules/@modelcontextprotocol/conformance/dist/index.js')

/** Scenarios that apply to every server. */
const APPLY = ['server-initialize', 'ping', 'tools-list', 'dns-rebinding-protection']

/** Scenarios that are skipped, because this server does not offer their feature. */
const LEFT_OUT: { readonly [scenario: string]: string } = {
  'completion-complete': 'no completions',
  'elicitation-sep1034-defaults': 'a tool of its own, test_*; ours ask nobody',
  'elicitation-sep1330-enums': 'a tool of its own, test_*; ours ask nobody',
  'json-schema-2020-12': 'a tool of its own, json_schema_2020_12_tool',
  'logging-set-level': 'no log messages for clients',
  'prompts-get-embedded-resource': 'no prompts',
  'prompts-get-simple': 'no prompts',
  'prompts-get-with-args': 'no prompts',
  'prompts-get-with-image': 'no prompts',
  'prompts-list': 'no prompts',
  'resources-list': 'no resources',
  'resources-read-binary': 'no resources',
  'resources-read-text': 'no resources',
  'resources-subscribe': 'no resources',
  'resources-templates-read': 'no resources',
  'resources-unsubscribe': 'no resources',
  'server-sse-multiple-streams': 'no sessions: the suite finds nothing to check',
  'server-sse-polling': 'a tool of its own, test_*, on a server that keeps sessions',
  'tools-call-audio': 'a tool of its own, test_*',
  'tools-call-elicitation': 'a tool of its own, test_*',
  'tools-call-embedded-resource': 'a tool of its own, test_*',
  'tools-call-error': 'a tool of its own, test_*',
  'tools-call-image': 'a tool of its own, test_*',
  'tools-call-mixed-content': 'a tool of its own, test_*',
  'tools-call-sampling': 'a tool of its own, test_*',
  'tools-call-simple-text': 'a tool of its own, test_*',
  'tools-call-with-logging': 'a tool of its own, test_*',
  'tools-call-with-progress': 'a tool of its own, test_*',
}

let harness: HttpHarness
let server: HttpServer
let folder: string

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'tooltrail-conformance-'))
  harness = await openHttpHarness()
  server = await serveHttp(harness.program.app.fetch, { port: 0, host: '127.0.0.1' }, harness.program.isCrowded)
})
afterAll(async () => {
  await server.drain()
  await server.close()
  await harness.close()
  rmSync(folder, { recursive: true, force: true })
})

/** Runs the official suite. It has no way to send a key, so the program has none. */
async function conformance(...words: string[]): Promise<string> {
  const { stdout } = await promisify(execFile)(process.execPath, [CONFORMANCE, ...words], { cwd: folder })
  return stdout
}

test.each(APPLY)('the official suite passes: %s', async (scenario) => {
  const said = await conformance('server', '--url', `${server.url}/mcp`, '--scenario', scenario)
  expect(said).toMatch(/Passed: (\d+)\/\1, 0 failed, 0 warnings/)
})

test('every scenario of the official suite is run or omitted for a reason', async () => {
  const listed = await conformance('list', '--server')
  const names = [...listed.matchAll(/^ +- (\S+)/gm)].map(([, name = '']) => name)
  expect(names.toSorted()).toEqual([...APPLY, ...Object.keys(LEFT_OUT)].toSorted())
})
