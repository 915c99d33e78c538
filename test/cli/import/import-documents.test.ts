/* Evidence, imports: A chat in one JSON document is imported completely, with any layout and with or without a byte order
 * mark. */
import { appendFileSync, mkdirSync, renameSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { expect, test } from 'vitest'
import type { Kind } from '../../../functions/cli/import/kinds.ts'
import { declareImporting, importFolder } from '../../e2e/backend/importing.ts'

const importing = declareImporting()
const { run, writeOld: write } = importing
const titleOf = async (id: string): Promise<string | null> =>
  (await importing.program.client.get<{ title: string | null }>(`/v1/sessions/${id}`)).title

const ID = '0b9f1c1e-1111-4222-8333-444455556666'
const MARK = '\uFEFF'
const lines = (...values: readonly object[]): string => values.map((value) => `${JSON.stringify(value)}\n`).join('')
const chat = [
  { role: 'user', content: 'hi' },
  { role: 'assistant', content: 'yo' },
]
const ui = [
  { id: '1', role: 'user', parts: [{ type: 'text', text: 'hi' }] },
  { id: '2', role: 'assistant', parts: [{ type: 'text', text: 'yo' }] },
]
const claude = (type: 'user' | 'assistant', text: string, sessionId: string): object => ({
  ...{ type, uuid: `${sessionId}-${type}-${text}`, sessionId },
  message: { id: `m-${text}`, role: type, content: [{ type: 'text', text }] },
})
const codex = (role: string, type: string, text: string): object => ({
  type: 'response_item',
  payload: { type: 'message', role, content: [{ type, text }] },
})

test.each<[Kind, string, string]>([
  ['openai', 'a.json', JSON.stringify(chat, null, 2)],
  ['openai', 'b.json', JSON.stringify(chat)],
  ['openai', 'c.jsonl', lines(...chat)],
  ['ai-sdk', 'a.json', JSON.stringify(ui, null, 2)],
  ['ai-sdk', 'b.jsonl', lines(...ui)],
  ['claude-code', 'marked.jsonl', lines(claude('user', 'hi', 'marked'), claude('assistant', 'yo', 'marked'))],
  [
    'codex',
    'rollout-1.jsonl',
    lines(
      { type: 'session_meta', payload: { id: 'marked' } },
      codex('user', 'input_text', 'hi'),
      codex('assistant', 'output_text', 'yo'),
    ),
  ],
  ['native', 'a.jsonl', lines({ object: 'session', id: 'marked' }, ...ui.map(({ role, parts }) => ({ role, parts })))],
])('a file of %s with a byte order mark is imported: %s', async (kind, name, content) => {
  write(name, MARK + content)
  expect(await run(kind)).toMatchObject({ files: 1, messages: 2, unreadable: 0 })
  expect(importing.faults).toEqual([])
})

test.each([
  ['a message a line', `[\n${chat.map((one) => JSON.stringify(one)).join(',\n')}\n]\n`],
  ['lines that are JSON by themselves', JSON.stringify([{ ...chat[0], tags: ['x'] }, chat[1]], null, 2)],
])('a document of several lines is imported completely: %s', async (_what, text) => {
  write('chat.json', text)
  expect(await run('openai')).toMatchObject({ files: 1, messages: 2 })
  expect(importing.faults).toEqual([])
})

test('a damaged document is reported, and all its valid lines are imported', async () => {
  const path = write('chat.json', `{"role":"us\n${lines(...chat)}`)
  expect(await run('openai')).toMatchObject({ messages: 2 })
  expect(importing.faults).toEqual([`${path}:1: is not JSON`])
  write('chat.json', Buffer.concat([Buffer.from('[\n"'), Buffer.from([0xff]), Buffer.from('"\n]')]))
  expect(await run('openai')).toMatchObject({ messages: 0, unreadable: 1 })
  expect(importing.faults).toEqual([`${path}:1: is not UTF-8`])
})

const SILENT = { role: 'user' }
const NO_CALL = { role: 'tool', tool_call_id: 'x', content: 'late' }
const EMPTY = { id: '3', role: 'user', parts: 'hi' }

test.each<[Kind, unknown, string[]]>([
  ['openai', [...chat, SILENT, NO_CALL, 7], ['[4]', '[2]', '[3]']],
  ['openai', { messages: [...chat, SILENT] }, ['1: messages[2]']],
  ['openai', [{ messages: chat }, { messages: [...chat, SILENT] }], ['[1].messages[2]']],
  ['ai-sdk', [...ui, EMPTY, 7], ['[3]', '[2]']],
])('a mistake in a document of %s is reported with its location', async (kind, document, places) => {
  for (const text of [JSON.stringify(document), JSON.stringify(document, null, 2)]) {
    const path = write('chat.json', text)
    await run(kind)
    expect(importing.faults.map((fault) => fault.slice(0, fault.indexOf(': ', path.length + 3)))).toEqual(
      places.map((place) => `${path}:${place}`),
    )
  }
})

test('mistakes of a document after the first ten are counted in one line', async () => {
  const path = write('chat.json', JSON.stringify(Array.from({ length: 12 }, () => SILENT)))
  await run('openai')
  expect(importing.faults.at(-1)).toContain(`${path}: 2 more places are left out, the last of them [11]: `)
})

test.each<[Kind, string, string]>([
  ['codex', 'rollout-2025-06-01T10-00-00-', 'codex-moved'],
  ['claude-code', '', `claude-code-${ID}`],
])('a file of %s that was moved, archived or copied is recognised', async (kind, before, session) => {
  const said = (type: 'user' | 'assistant', text: string) =>
    kind === 'codex' ? codex(type, type === 'user' ? 'input_text' : 'output_text', text) : claude(type, text, ID)
  const meta = { type: 'session_meta', payload: { id: 'moved' } }
  const talk = [...(kind === 'codex' ? [meta] : []), said('user', 'hi'), said('assistant', 'yo')]
  const path = write(`sessions/${before}${ID}.jsonl`, lines(...talk))
  expect(await run(kind)).toMatchObject({ messages: 2 })
  const moved = join(importing.folder, `archived/${before}${ID}.jsonl`)
  mkdirSync(dirname(moved))
  renameSync(path, moved)
  appendFileSync(moved, lines(said('user', 'more'), said('assistant', 'well')))
  expect(await run(kind)).toMatchObject({ messages: 2 })
  write(`sessions/${before}${ID}.jsonl`, lines(...talk))
  expect(await run(kind)).toMatchObject({ messages: 0 })
  const { data } = await importing.program.client.get<{ data: object[] }>(`/v1/sessions/${session}/messages`)
  expect(data).toHaveLength(4)
})

test('a file is recognised whichever path names it', async () => {
  write('chat.json', JSON.stringify(chat))
  expect(await run('openai')).toMatchObject({ messages: 2 })
  const place = relative(process.cwd(), importing.folder)
  const { counts } = await importFolder('openai', place, importing.program.client)
  expect(counts).toMatchObject({ messages: 0 })
})

test('an import into a deleted session reports that the session was deleted', async () => {
  write('gone.jsonl', lines(claude('user', 'hi', 'gone')))
  await run('claude-code')
  await importing.program.client.send('DELETE', '/v1/sessions/claude-code-gone')
  expect(await run('claude-code')).toMatchObject({ messages: 0, failed: 1 })
  expect(importing.faults).toEqual([expect.stringMatching(/gone\.jsonl: session claude-code-gone .* was deleted/)])
})

test("a session of Claude Code has the user's title, otherwise the program's title, otherwise the summary", async () => {
  const session = 'titled'
  const talk = [claude('user', 'hi', session), claude('assistant', 'yo', session)]
  const summary = { type: 'summary', summary: 'Its summary', leafUuid: `${session}-assistant-yo` }
  const foreign = [
    { type: 'summary', summary: 'Of another session', leafUuid: 'nowhere' },
    { type: 'ai-title', aiTitle: 'Of another session', sessionId: 'other' },
  ]
  const ai = [
    { type: 'ai-title', aiTitle: 'First guess', sessionId: session },
    { type: 'ai-title', aiTitle: 'Better guess' },
    { type: 'ai-title', aiTitle: ' ' },
  ]
  const custom = { type: 'custom-title', customTitle: `Zürich ${'🎉'.repeat(300)}`, sessionId: session }
  const title = async (name: string, ...records: object[]): Promise<string | null> => {
    write(`${name}.jsonl`, lines(...records))
    await run('claude-code')
    return titleOf(`claude-code-${name}`)
  }
  expect(await title('t0', ...talk, ...foreign)).toBe('hi')
  // A resumed session begins with the summaries of its files.
  expect(await title('t1', summary, ...foreign, ...talk)).toBe('Its summary')
  expect(await title('t2', ...talk, ...ai, summary)).toBe('Better guess')
  const long = await title('t3', custom, ...talk, ...ai)
  expect([long?.startsWith('Zürich 🎉'), long?.length, long?.isWellFormed()]).toEqual([true, 500, true])
})

test('a later title of the program replaces every earlier title, except a title that the user set', async () => {
  const talk = [claude('user', 'hi', 'late'), claude('assistant', 'yo', 'late')]
  write('late.jsonl', lines(...talk))
  await run('claude-code')
  expect(await titleOf('claude-code-late')).toBe('hi')
  write('late.jsonl', lines(...talk, { type: 'ai-title', aiTitle: 'Greetings', sessionId: 'late' }))
  expect(await run('claude-code')).toMatchObject({ messages: 0 })
  expect(await titleOf('claude-code-late')).toBe('Greetings')
  write('late.jsonl', lines(...talk, { type: 'custom-title', customTitle: 'Other', sessionId: 'late' }))
  await run('claude-code')
  expect(await titleOf('claude-code-late')).toBe('Other')
  await importing.program.client.send('PATCH', '/v1/sessions/claude-code-late', { title: 'Given' })
  write('late.jsonl', lines(...talk, { type: 'custom-title', customTitle: 'Last', sessionId: 'late' }))
  await run('claude-code')
  expect(await titleOf('claude-code-late')).toBe('Given')
})
