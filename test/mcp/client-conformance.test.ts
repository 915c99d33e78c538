/* Evidence, clients: MCP server and client pass the official conformance suite where its scenarios apply. */
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { runScenario, scenariosOf } from './official-suite.ts'
import type { Omitted } from './official-suite.ts'

const CLIENT = `${process.execPath} ${join(import.meta.dirname, 'client-program.ts')}`

const OMITTED: Omitted = [
  [/^auth\//, 'keys are settings: there is no authorization flow'],
  [/^elicitation/, 'servers are not offered to ask people'],
  [/^sep-2640/, 'an extension'],
]

/** Checks of the suite that fail because this client does not let servers ask people. */
const EXPECTED: { readonly [scenario: string]: readonly string[] } = {
  'sep-2322-client-request-state': [
    'sep-2322-client-jsonrpc-id-different',
    'sep-2322-client-no-state-omitted',
    'sep-2322-client-request-state-echoed',
  ],
}

const scenarios = await scenariosOf('client', OMITTED)

test.each(scenarios)('the client passes $name of revision $revision', async (scenario) => {
  const { passed, failed, text } = await runScenario('client', scenario, ['--command', CLIENT])
  expect(failed, text).toEqual(EXPECTED[scenario.name] ?? [])
  expect(passed, text).toBeGreaterThan(0)
})
