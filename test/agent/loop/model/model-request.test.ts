import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { createDiskOutputStore } from '../../../../functions/adapters/disk/output-store.ts'
import { buildRequest, declaredTools, instructed } from '../../../../functions/agent/loop/model/model-request.ts'
import { attachMedia } from '../../../../functions/agent/media.ts'
import { DEFAULT_POLICIES } from '../../../../functions/domain/agent.ts'
import type { Agent } from '../../../../functions/domain/agent.ts'
import { nextIds } from '../../../../functions/domain/ids.ts'
import type { Message } from '../../../../functions/domain/messages/message.ts'
import type { RequestMessage } from '../../../../functions/domain/model-request.ts'
import { NO_TOTALS } from '../../../../functions/domain/session.ts'
import type { Session } from '../../../../functions/domain/session.ts'
import { createToolList } from '../../../../functions/tools/tool-list.ts'
import { makeTool } from '../../harness.ts'

const agent: Agent = {
  name: 'default',
  model: 'script/ed',
  modelOptions: {},
  instructions: 'Be brief.',
  tools: ['look', 'ask'],
  policies: DEFAULT_POLICIES,
}
const session: Session = {
  tenant: 't',
  session: 's',
  agent: 'default',
  metadata: {},
  createdAt: 0,
  updatedAt: 0,
  totals: NO_TOTALS,
  messages: { count: 0 },
}
const base = { runId: 'run-1', agent: 'default', round: 0, createdAt: 0 }
const call = { id: 'c', name: 'shell', arguments: '{}' }
const log: Message[] = [
  { ...base, id: '1', role: 'user', parts: [{ type: 'text', text: 'go' }] },
  {
    ...base,
    id: '2',
    role: 'assistant',
    parts: [{ type: 'tool_call', id: 'c' }],
    toolCalls: [call, { ...call, id: 'd' }],
  },
  ...['c', 'd'].map((toolCallId, sequence): Message => ({
    ...base,
    id: String(sequence + 3),
    role: 'tool',
    assistantMessageId: '2',
    toolCallId,
    toolName: 'shell',
    call: 'shell()',
    sequence,
    status: 'completed',
    parts: [],
    generation: 1,
  })),
]
const look = { name: 'look', description: 'look', parameters: { type: 'object' } }

test('a request without tools still declares the tools that its history calls, and forbids calls', () => {
  const of = {
    session,
    thread: { runId: 'run-2', agent, messages: log },
    toolChoice: 'auto',
    context: {},
    numbers: new Map(),
  } as const
  expect(buildRequest({ ...of, tools: [] })).toMatchObject({ tools: [{ name: 'shell' }], toolChoice: 'none' })
  expect(buildRequest({ ...of, tools: [look] })).toMatchObject({ tools: [look], toolChoice: 'auto' })
})

test('a session’s instructions replace its agent’s', () => {
  const of = {
    thread: { runId: 'run-2', agent, messages: [] as Message[] },
    tools: [],
    toolChoice: 'auto' as const,
    context: {},
    numbers: new Map(),
  }
  expect(buildRequest({ ...of, session }).instructions).toBe('Be brief.')
  expect(buildRequest({ ...of, session: { ...session, instructions: 'Be long.' } }).instructions).toBe('Be long.')
})

test('a run’s instructions replace its session’s', () => {
  expect(instructed({ instructions: 'Now in French.' }, { instructions: 'Be long.' })).toEqual({
    instructions: 'Now in French.',
  })
  expect(instructed({}, { instructions: 'Be long.' })).toEqual({ instructions: 'Be long.' })
  expect(instructed({}, {})).toEqual({})
})

test('a client tool hides the agent’s tool of the same name', () => {
  const tools = new Map(['look', 'ask'].map((name) => [name, makeTool(name, async () => ({ text: '' }))]))
  const own = { name: 'ask', description: 'asks the caller', parameters: {} }
  expect(declaredTools(tools, [own])).toEqual([own, look])
})

test('an agent gets its listed tools in its order; missing tools are omitted', async () => {
  const all = new Map(['look', 'ask', 'unlisted'].map((name) => [name, makeTool(name, async () => ({ text: '' }))]))
  const opened = await createToolList(all).open({ ...agent, tools: ['ask', 'gone', 'look'] })
  expect([...opened.keys()]).toEqual(['ask', 'look'])
})

test('a request contains the bytes of its media and is otherwise unchanged', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'tooltrail-request-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const outputs = createDiskOutputStore({ folder })
  const [picture = '', sheet = ''] = nextIds(undefined, 1, 2)
  await outputs.put(session, picture, Buffer.from('a picture'), 'image/png')
  await outputs.put(session, sheet, Buffer.from('a sheet'), 'text/csv')
  const text = { type: 'text', text: 'see' } as const
  const image = { type: 'image', id: picture, mediaType: 'image/png' } as const
  const file = { type: 'file', id: sheet, mediaType: 'text/csv' } as const
  const assistant = { role: 'assistant', parts: [text] } as const
  const result = { role: 'tool', toolCallId: 'c', toolName: 'shell', isError: false } as const
  const request = (...[first, second]: readonly object[]): RequestMessage[] => [
    { role: 'user', parts: [text, { ...image, ...first }] },
    assistant,
    { ...result, parts: [{ ...file, ...second }, text] },
  ]
  const attached = await attachMedia(request(), session, outputs)
  const messages = request({ data: Buffer.from('a picture') }, { data: Buffer.from('a sheet') })
  expect(attached).toEqual({ messages, missing: [] })
  const plain: RequestMessage[] = [assistant, { ...result, parts: [text] }]
  expect(await attachMedia(plain, session, outputs)).toEqual({ messages: plain, missing: [] })
  await outputs.remove(session, sheet)
  const without = await attachMedia(request(), session, outputs)
  const note = { type: 'text', text: '[file (text/csv) is no longer available to view]' }
  expect(without.messages[2]?.parts).toEqual([note, text])
  expect(without.missing).toEqual([file])
})
