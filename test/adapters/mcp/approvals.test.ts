/*
 * Approvals for MCP tools whose schema cannot be read, or whose `format` has another meaning for the server. The
 * server makes the checks that this program cannot make (docs/reference/mcp.md), and a person approves the call.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openWire, WIRES } from '../../http/wire-harness.ts'
import type { WireHarness } from '../../http/wire-harness.ts'
import { reply, serverAt, startRawServer } from './servers.ts'
import type { RunningServer } from './servers.ts'

const url = 'https://example.com'
interface Case {
  readonly property: unknown
  readonly value: unknown
  readonly more?: object
  /** Whether a warning says that the arguments were not checked completely. */
  readonly isWarned?: true
}
const CASES: { readonly [tool: string]: Case } = {
  readable: { property: { type: 'string', pattern: '^https:' }, value: url },
  escaped_pattern: { property: { type: 'string', pattern: '^https\\:\\/\\/' }, value: url, isWarned: true },
  pattern_of_python: { property: { type: 'string', pattern: '\\A(?i)HTTPS.*\\Z' }, value: url, isWarned: true },
  reference_to_nothing: { property: { $ref: '#/$defs/Missing' }, value: 1, isWarned: true },
  remote_reference: { property: { $ref: 'https://example.com/x.json#/y' }, value: 1, isWarned: true },
  limit_of_draft_4: { property: { type: 'number', minimum: 0, exclusiveMinimum: true }, value: 1 },
  format_date_time: { property: { type: 'string', format: 'date-time' }, value: '2026-01-01T00:00:00' },
  format_hostname: { property: { type: 'string', format: 'hostname' }, value: 'my_host' },
  null_keywords: { property: { type: 'string', enum: null }, value: url, more: { required: null } },
  nullable: { property: { type: 'string', nullable: true }, value: null },
  type_in_capitals: { property: { type: 'STRING' }, value: url },
  unknown_type: { property: { type: 'url' }, value: url, isWarned: true },
  property_without_a_schema: { property: null, value: url, more: { additionalProperties: false } },
  negated_pattern: { property: { not: { pattern: '(?i)^ftp' } }, value: url, isWarned: true },
}

let server: RunningServer
beforeAll(async () => {
  server = await startRawServer((message, response) => {
    const tools = Object.entries(CASES).map(([name, { property, more }]) => ({
      name,
      inputSchema: { type: 'object', properties: { value: property }, ...more },
    }))
    reply(response, message, message.method === 'tools/list' ? { tools } : { content: [{ type: 'text', text: 'ok' }] })
  })
})
afterAll(() => server.close())

describe.each(WIRES)('$wire', ({ provider }) => {
  let opened: WireHarness
  beforeAll(async () => {
    opened = await openWire(provider, [serverAt(server.url, { name: 'srv', needsApproval: Object.keys(CASES) })])
  })
  afterAll(() => opened.close())

  const call = (name: string, input: object) =>
    opened.play({ parts: [{ type: 'tool_call', id: 'c', name: `srv__${name}`, arguments: JSON.stringify(input) }] })

  test.each(Object.keys(CASES).map((name) => ({ name, variant: name.replaceAll('_', '-') })))(
    'field/23/$variant: a person is asked to approve the call',
    async ({ name }) => {
      call(name, { value: CASES[name]?.value })
      const { session, run } = await opened.ask('go')
      expect(run.status).toBe('paused')
      const notices = (await opened.harness.ports.reader.run({ tenant: 'default', session }, run.id))?.notices ?? []
      const details = notices.flatMap((notice) => (notice.type === 'warning' ? [notice.detail] : []))
      const expected = `the arguments of calls were not checked in full, because of the schema of srv__${name}`
      expect(details).toEqual(CASES[name]?.isWarned === true ? [expected] : [])
    },
  )

  test('field/23/arguments-that-do-not-fit: the call is returned to the model', async () => {
    call('limit_of_draft_4', { value: 0 })
    const { session, run } = await opened.ask('go')
    expect(run.status).toBe('completed')
    expect((await opened.results(session)).map(({ status }) => status)).toEqual(['error'])
  })
})
