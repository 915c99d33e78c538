/* Evidence, clients: MCP server and client pass the official conformance suite where its scenarios apply. */
import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'

const CONFORMANCE = resolve(import.meta.dirname, '../../node_modules/@modelcontextprotocol/conformance/dist/index.js')
const CLIENT = `${process.execPath} ${join(import.meta.dirname, 'client-program.ts')}`

const APPLY = ['initialize', 'tools_call', 'sse-retry']
const LEFT_OUT: { readonly [scenario: string]: string } = {
  'elicitation-sep1034-client-defaults': 'servers are not offered to ask people',
}
/** Scenarios of authorization flows. The program has none, because its keys are settings. */
const WITHOUT_A_FLOW = /^auth\//

let folder: string
beforeAll(() => (folder = mkdtempSync(join(tmpdir(), 'tooltrail-conformance-'))))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** Runs the official suite. Returns its output on both streams. */
async function conformance(...words: string[]): Promise<string> {
  const { stdout, stderr } = await promisify(execFile)(process.execPath, [CONFORMANCE, ...words], { cwd: folder })
  return stdout + stderr
}

test.each(APPLY)('the official suite passes: %s', async (scenario) => {
  const said = await conformance('client', '--command', CLIENT, '--scenario', scenario)
  expect(said).toMatch(/Passed: ([1-9]\d*)\/\1, 0 failed, 0 warnings/)
})

test('every scenario of the official suite is run or omitted for a reason', async () => {
  const names = [...(await conformance('list', '--client')).matchAll(/^ +- (\S+)/gm)].map(([, name = '']) => name)
  expect(names.filter((name) => !WITHOUT_A_FLOW.test(name)).toSorted()).toEqual(
    [...APPLY, ...Object.keys(LEFT_OUT)].toSorted(),
  )
})
