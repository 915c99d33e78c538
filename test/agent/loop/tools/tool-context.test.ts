import { expect, test } from 'vitest'
import { definedFields } from '../../../../functions/domain/defined-fields.ts'
import { createToolContext } from '../../../../functions/agent/loop/tools/tool-call.ts'
import { DEFAULT_POLICIES } from '../../../../functions/domain/agent.ts'
import type { Policies } from '../../../../functions/domain/agent.ts'
import type { HistoryQuery, HistoryScope } from '../../../../functions/domain/history.ts'
import type { Message, ToolMessage } from '../../../../functions/domain/messages/message.ts'
import { NO_TOTALS } from '../../../../functions/domain/session.ts'
import type { Session, SessionKey } from '../../../../functions/domain/session.ts'
import { createSystemClock } from '../../../../functions/adapters/memory/system-clock.ts'
import type { LogReader } from '../../../../functions/ports/log-reader.ts'

const [HERE, THERE, SAID] = ['01ARZ3NDEKTSV4RRFFQ69G5FAV', '01ARZ3NDEKTSV4RRFFQ69G5FAW', '01ARZ3NDEKTSV4RRFFQ69G5FAX']
const base = { runId: 'run-1', agent: 'default', round: 0, createdAt: 0 }
const row = (id: string, text: string): ToolMessage => ({
  ...base,
  id,
  role: 'tool',
  assistantMessageId: 'a',
  toolCallId: 'c',
  toolName: 'shell',
  call: 'shell()',
  sequence: 0,
  status: 'completed',
  parts: [{ type: 'text', text }],
  generation: 1,
})
const LOGS: { readonly [session: string]: readonly Message[] } = {
  s1: [row(HERE, 'here'), { ...base, id: SAID, role: 'user', parts: [] }],
  s2: [row(THERE, 'there')],
}

function contextOf(owner: string | undefined, searchScope: Policies['searchScope'], bound = false) {
  const queries: HistoryQuery[] = []
  const scopes: HistoryScope[] = []
  const none = (): Promise<never> => Promise.reject(new Error('not asked for here'))
  const reader: LogReader = {
    messages: none,
    message: async ({ session }: SessionKey, id) => LOGS[session]?.find((message) => message.id === id),
    run: none,
    runs: none,
    queued: none,
    steering: none,
    context: none,
    replacements: none,
    sources: none,
  }
  const session: Session = {
    tenant: 't',
    session: 's1',
    agent: 'default',
    ...definedFields({ owner }),
    metadata: {},
    createdAt: 0,
    updatedAt: 0,
    totals: NO_TOTALS,
    messages: { count: 0 },
  }
  const context = createToolContext(
    {
      // The session's current row, which may differ from the row at the start of the run.
      sessions: { read: async () => ({ ...session, ...(bound ? { ownerBound: true } : {}) }) },
      reader,
      outputs: { put: none, read: none },
      index: {
        search: none,
        hasSuperseded: none,
        locate: async (scope, id) => {
          scopes.push(scope)
          return id === THERE ? 's2' : undefined
        },
      },
      search: async (query) => {
        queries.push(query)
        return { entries: [], understood: { terms: [] } }
      },
      clock: createSystemClock(),
    },
    {
      session,
      progressed: () => undefined,
      agent: {
        name: 'default',
        model: '',
        modelOptions: {},
        tools: [],
        policies: { ...DEFAULT_POLICIES, searchScope },
      },
      row: row(HERE, ''),
      signal: new AbortController().signal,
    },
  )
  return { context, queries, scopes }
}

test.each([
  ['owner', 'ada', { tenant: 't', owner: 'ada' }],
  ['owner', undefined, { tenant: 't', session: 's1' }],
  ['session', 'ada', { tenant: 't', session: 's1' }],
  ['tenant', 'ada', { tenant: 't' }],
] as const)('with scope %s and owner %s, a tool sees all of %j except its own run', async (scope, owner, expected) => {
  const { context, queries, scopes } = contextOf(owner, scope)
  const { lacksOwner = false } = await context.searchHistory('words', { role: 'user' }, 7)
  expect(lacksOwner).toBe(scope === 'owner' && owner === undefined)
  expect(queries).toEqual([{ scope: expected, text: 'words', filters: { role: 'user', notRun: 'run-1' }, limit: 7 }])
  await context.readOutput(`output:${THERE}`)
  expect(scopes).toEqual([expected])
})

test("a tool sees only the owner's messages if its session becomes bound to the owner during the run", async () => {
  const { context, queries, scopes } = contextOf('ada', 'tenant', true)
  await context.searchHistory('words', {}, 7)
  await context.readOutput(`output:${THERE}`)
  expect([queries[0]?.scope, scopes[0]]).toEqual([
    { tenant: 't', owner: 'ada' },
    { tenant: 't', owner: 'ada' },
  ])
})

test('an output is read from this session, or from another session within the scope', async () => {
  const { context } = contextOf('ada', 'owner')
  const [here, there] = [await context.readOutput(`output:${HERE}`), await context.readOutput(`output:${THERE}`)]
  expect([here, there]).toMatchObject([
    { toolName: 'shell', session: 's1' },
    { toolName: 'shell', session: 's2' },
  ])
  expect(await Array.fromAsync(here?.pieces ?? [])).toEqual(['here'])
  expect(await Array.fromAsync(there?.pieces ?? [])).toEqual(['there'])
})

test.each([`output:${SAID}`, 'output:01ARZ3NDEKTSV4RRFFQ69G5FAZ', HERE, 'output:../x', ''])(
  'reading the pointer %j returns no output',
  async (pointer) => expect(await contextOf('ada', 'owner').context.readOutput(pointer)).toBeUndefined(),
)
