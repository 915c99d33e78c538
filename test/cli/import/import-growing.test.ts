/* Evidence, imports: A session file that grows during several imports is stored as if it had been imported once. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import type { Kind } from '../../../functions/cli/import/kinds.ts'
import { contentsOfFile } from '../../../functions/cli/import/sessions-of-file.ts'

const folder = mkdtempSync(join(tmpdir(), 'tooltrail-growing-'))
afterAll(() => rmSync(folder, { recursive: true }))

const ID = '11111111-1111-4111-8111-111111111111'
/** Slightly more than a day, because file times have fractions of milliseconds. */
const DAY_MS = 24 * 3_600_000 + 10

/** Builds a line of Claude Code whose timestamp has this second. */
const line = (second: number, role: 'user' | 'assistant', message: object, more: object = {}) => ({
  type: role,
  uuid: `${role}-${second}`,
  sessionId: ID,
  timestamp: new Date(Date.UTC(2026, 0, 1) + second * 1_000).toISOString(),
  message: { role, ...message },
  ...more,
})
const says = (second: number, id: string, block: object, more: object = {}) =>
  line(second, 'assistant', { id, model: 'claude', content: [block] }, more)
const text = (words: string) => ({ type: 'text', text: words })
const calls = (id: string, name: string, input: object = {}) => ({ type: 'tool_use', id, name, input })
const returns = (second: number, call: string, agentId?: string) =>
  line(
    second,
    'user',
    { content: [{ type: 'tool_result', tool_use_id: call, content: `of ${call}` }] },
    agentId === undefined ? {} : { toolUseResult: { status: 'completed', agentId } },
  )
const SIDE = { isSidechain: true }

const SESSION = [
  line(1, 'user', { content: 'deploy' }),
  says(2, 'a', { type: 'thinking', thinking: 'first look' }),
  says(3, 'a', text('I look')),
  says(4, 'a', calls('t1', 'Bash')),
  returns(5, 't1'),
  says(6, 'b', calls('t2', 'Task', { subagent_type: 'scout' })),
  returns(9, 't2', 'scout'),
  says(10, 'c', { type: 'thinking', thinking: 'again' }),
  says(11, 'c', calls('t3', 'Task', { resume: 'scout' })),
  says(12, 'c', calls('t4', 'Bash')),
  returns(13, 't4'),
  returns(16, 't3', 'scout'),
  // In older versions, the lines of a sub-agent are in the file of its leader.
  says(17, 'd', calls('t5', 'Task')),
  line(18, 'user', { content: 'look there' }, SIDE),
  says(19, 'e', text('nothing there'), SIDE),
  returns(20, 't5'),
  says(21, 'f', text('deployed')),
  line(22, 'user', { content: 'and now?' }),
  says(23, 'g', text('nothing more')),
]
const AGENT = [
  line(7, 'user', { content: 'scout' }, SIDE),
  says(8, 'h', text('found'), SIDE),
  line(14, 'user', { content: 'scout more' }, SIDE),
  says(15, 'i', text('found more'), SIDE),
]

const CODEX = [
  { type: 'session_meta', payload: { id: ID } },
  ...[
    { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'deploy' }] },
    { type: 'reasoning', summary: [{ text: 'first look' }] },
    { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'I look' }] },
    { type: 'function_call', name: 'shell', arguments: '{}', call_id: 'c1' },
    { type: 'function_call', name: 'shell', arguments: '{}', call_id: 'c2' },
    { type: 'function_call_output', call_id: 'c1', output: 'one' },
    { type: 'function_call_output', call_id: 'c2', output: 'two' },
    { type: 'reasoning', summary: [{ text: 'it is done' }] },
    { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'deployed' }] },
  ].map((payload) => ({ type: 'response_item', payload })),
  { type: 'event_msg', payload: { type: 'task_complete' } },
].map((one, second) => ({ ...one, timestamp: new Date(Date.UTC(2026, 0, 1) + second * 1_000).toISOString() }))

type Line = { readonly timestamp: string }

/** Imports a file with these lines, and the sub-agent's file with its lines up to `until`. Returns the messages. */
async function messagesOf(
  kind: Kind,
  path: string,
  lines: readonly Line[],
  { idle, until = lines.at(-1)?.timestamp ?? '' }: { readonly idle: number; readonly until?: string },
) {
  const agent = join(path.replace('.jsonl', ''), 'subagents', 'agent-scout.jsonl')
  mkdirSync(dirname(agent), { recursive: true })
  writeFileSync(path, lines.map((one) => `${JSON.stringify(one)}\n`).join(''))
  writeFileSync(
    agent,
    AGENT.filter(({ timestamp }) => timestamp <= until)
      .map((one) => `${JSON.stringify(one)}\n`)
      .join(''),
  )
  const messages: { readonly place: number; readonly parent_tool_call_id?: unknown }[] = []
  for await (const { sessions } of contentsOfFile(kind, path, () => Date.now() + idle))
    for (const session of sessions) messages.push(...session.messages.map(({ value, place }) => ({ ...value, place })))
  return messages
}

test.each([
  ['claude-code', SESSION, 1],
  ['codex', CODEX, 0],
] as const)(
  'messages read from a growing file of %s never change, whenever the file is read',
  async (kind, lines, open) => {
    const path = join(folder, `${kind}-${ID}.jsonl`)
    const whole = await messagesOf(kind, path, lines, { idle: DAY_MS })
    let most = 0
    for (let count = 1; count <= lines.length; count++) {
      const taken = await messagesOf(kind, path, lines.slice(0, count), { idle: 0 })
      expect(taken, `${count} lines`).toEqual(whole.slice(0, taken.length))
      expect(taken.length, `${count} lines`).toBeGreaterThanOrEqual(most)
      most = taken.length
    }
    // The file of Claude Code does not say that its last completion is complete.
    expect(most).toBe(whole.length - open)
  },
)

test('a resumed sub-agent belongs to the resuming call; after a day without a result, to its first call', async () => {
  const path = join(folder, `open-${ID}.jsonl`)
  const of = async (lines: readonly Line[], idle: number) => {
    const messages = await messagesOf('claude-code', path, lines, { idle, until: AGENT.at(-1)?.timestamp ?? '' })
    return messages.flatMap((one) => (JSON.stringify(one).includes('scout more') ? [one.parent_tool_call_id] : []))
  }
  const resumed = SESSION.slice(0, SESSION.length - 8)
  expect(await of(resumed, 0)).toEqual([])
  expect(await of(resumed, DAY_MS)).toEqual(['t2'])
  expect(await of(SESSION, 0)).toEqual(['t3'])
})

test('an unfinished completion is imported after ten minutes, calls without a result after a day', async () => {
  const path = join(folder, `patience-${ID}.jsonl`)
  const counts = async (lines: readonly Line[]) => {
    const taken: number[] = []
    for (const idle of [0, 600_010, DAY_MS]) taken.push((await messagesOf('claude-code', path, lines, { idle })).length)
    return taken
  }
  expect(await counts(SESSION.slice(0, 3))).toEqual([1, 2, 2])
  expect(await counts(SESSION.slice(0, 4))).toEqual([1, 1, 2])
})
