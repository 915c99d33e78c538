/* Evidence, clients: MCP server and client pass the official conformance suite where its scenarios apply. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { serveHttp } from '../../functions/runtime/local/http-server.ts'
import type { HttpServer } from '../../functions/runtime/local/http-server.ts'
import { openHttpHarness } from '../http/harness.ts'
import type { HttpHarness } from '../http/harness.ts'
import { runScenario, scenariosOf } from './official-suite.ts'
import type { Omitted } from './official-suite.ts'

/** Scenarios that are skipped, because this server does not offer their feature. */
const OMITTED: Omitted = [
  [/^(?:tools-call-|elicitation-|json-schema-2020-12$|server-sse-polling)/, 'wants tools of fixed names (test_*)'],
  [/^(?:resources-|sep-2164)/, 'no resources'],
  [/^prompts-/, 'no prompts'],
  [/^completion-/, 'no completions'],
  [/^logging-/, 'no log messages for clients'],
  [/^(?:tasks-|sep-2640)/, 'an extension'],
  [/^input-required-/, 'our tools ask nobody'],
  [/^http-custom-header-server/, 'no tool with x-mcp-header'],
  [/^server-(?:sse-multiple-streams|session-lifecycle)$/, 'no sessions of the protocol'],
]

/** Checks of the suite that fail because they need prompts, resources, or tools of fixed names. */
const EXPECTED: { readonly [scenario: string]: readonly string[] } = {
  'server-stateless': [
    'sep-2575-http-server-no-independent-requests-on-stream',
    'sep-2575-missing-capability-http-400',
    'sep-2575-server-no-log-without-loglevel',
    'sep-2575-server-rejects-undeclared-capability',
  ],
  caching: [
    'sep-2549-prompts-list-caching-hints',
    'sep-2549-resources-list-caching-hints',
    'sep-2549-resources-templates-list-caching-hints',
  ],
}

const scenarios = await scenariosOf('server', OMITTED)

let harness: HttpHarness
let server: HttpServer
beforeAll(async () => {
  harness = await openHttpHarness()
  server = await serveHttp(harness.program.app.fetch, { port: 0, host: '127.0.0.1' }, harness.program.isCrowded)
})
afterAll(async () => {
  await server.drain()
  await server.close()
  await harness.close()
})

test.each(scenarios)('the server passes $name of revision $revision', async (scenario) => {
  const { passed, failed, text } = await runScenario('server', scenario, ['--url', `${server.url}/mcp`])
  expect(failed, text).toEqual(EXPECTED[scenario.name] ?? [])
  expect(passed, text).toBeGreaterThan(0)
})
