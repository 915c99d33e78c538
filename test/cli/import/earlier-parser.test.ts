import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createClient } from '../../../functions/client/client.ts'
import { readClaudeCode } from '../../../functions/log/session-files/claude-code.ts'
import type { Page } from '../../e2e/backend/client.ts'
import { startScriptedProgram } from '../../e2e/scripted-program.ts'
import type { ScriptedProgram } from '../../e2e/scripted-program.ts'

interface Message {
  readonly id: string
  readonly role: string
  readonly run_id: string
  readonly created_at: string
  readonly metadata?: { readonly [name: string]: string }
  readonly parts: readonly { readonly text?: string }[]
}

const timeOf = (second: number): string => new Date(Date.UTC(2026, 9, 1, 10, 0, second)).toISOString()

/**
 * Creates a session file that the first parser imported incorrectly. It dropped a queued input and a command, and stored a notice
 * as an input.
 */
function createFile() {
  const sessionId = crypto.randomUUID()
  const line = (second: number, fields: object): object => ({
    uuid: `${second}-${sessionId}`,
    sessionId,
    timestamp: timeOf(second),
    ...fields,
  })
  const user = (second: number, content: unknown): object =>
    line(second, { type: 'user', message: { role: 'user', content } })
  const says = (second: number, id: string, ...content: readonly object[]): object =>
    line(second, { type: 'assistant', message: { id, model: 'x', stop_reason: 'end_turn', content } })
  const queued = (second: number, prompt: string): object =>
    line(second, { type: 'attachment', attachment: { type: 'queued_command', commandMode: 'prompt', prompt } })
  const text = (words: string): object => ({ type: 'text', text: words })
  const lines = [
    user(1, 'Tidy the parser.'),
    says(2, 'm1', { type: 'tool_use', id: 't1', name: 'Bash', input: { command: 'make' } }),
    queued(3, 'also rename it to quokka'),
    user(4, [{ type: 'tool_result', tool_use_id: 't1', content: 'ok' }]),
    says(5, 'm2', text('Renamed.')),
    user(6, '<task-notification>the numbat is done</task-notification>'),
    says(7, 'm3', text('The numbat is done.')),
    user(8, '<command-name>/review</command-name>\n<command-args>the bandicoot</command-args>'),
    says(9, 'm4', text('Reviewed.')),
  ]
  const more = [queued(10, 'and the potoroo'), says(11, 'm5', text('Also done.'))]
  return { id: `claude-code-${sessionId}`, name: `${sessionId}.jsonl`, lines, more }
}

type SessionFile = ReturnType<typeof createFile>
const textOf = (lines: readonly object[]): string => lines.map((one) => `${JSON.stringify(one)}\n`).join('')

let folder: string
let scripted: ScriptedProgram
beforeAll(async () => {
  scripted = await startScriptedProgram()
  folder = await mkdtemp(join(tmpdir(), 'tooltrail-'))
})
afterAll(async () => {
  await scripted.close()
  await rm(folder, { recursive: true, force: true })
})

/** Imports a file as a program with the first parser did. The session's metadata name the source, but no parser. */
async function importEarlier({ id, name, lines }: SessionFile): Promise<void> {
  const file = lines.map((value, place) => ({ line: place + 1, value }))
  const { messages } = readClaudeCode(file, { agentLines: () => undefined, output: () => undefined }, 1)
  const values = messages.map(({ value }) => ({ agent: 'claude-code', ...value }))
  const client = createClient({ url: scripted.client.url })
  await client.createSession({ id, metadata: { source: 'claude-code' } })
  const stream = new Blob([textOf(values)]).stream()
  await client.importMessages(id, stream, { format: 'native', source: `claude-code:${name}`, from: 0 })
}

async function importFile({ name }: SessionFile, lines: readonly object[], ending = ''): Promise<string> {
  const own = join(folder, crypto.randomUUID(), '-p')
  await mkdir(own, { recursive: true })
  const bytes = Buffer.from(textOf(lines))
  await writeFile(join(own, name + ending), ending === '' ? bytes : gzipSync(bytes))
  return scripted.command('import', 'claude-code', own)
}

const messagesOf = async ({ id }: SessionFile): Promise<readonly Message[]> =>
  (await scripted.client.get<Page<Message>>(`/v1/sessions/${id}/messages?order=asc&limit=200`)).data
const inputsOf = (messages: readonly Message[]): unknown[] =>
  messages.filter(({ role }) => role === 'user').map(({ parts }) => parts[0]?.text)
const BEFORE = ['Tidy the parser.', '<task-notification>the numbat is done</task-notification>']
const DROPPED = ['also rename it to quokka', '/review the bandicoot']

test('inputs that an earlier parser dropped are appended as one round', async () => {
  const file = createFile()
  await importEarlier(file)
  const before = await messagesOf(file)
  expect(inputsOf(before)).toEqual(BEFORE)
  await importFile(file, file.lines)
  const after = await messagesOf(file)
  expect(after.slice(0, before.length)).toEqual(before)
  const added = after.slice(before.length)
  expect(inputsOf(added)).toEqual(DROPPED)
  expect(added.map(({ created_at: time, metadata }) => [time, metadata])).toEqual([
    [timeOf(3), { dropped_by_parser: '1' }],
    [timeOf(8), { dropped_by_parser: '1' }],
  ])
  expect(new Set(added.map(({ run_id: run }) => run)).size).toBe(1)
  await importFile(file, file.lines)
  expect(await messagesOf(file)).toEqual(after)
})

test('a file that grows after its import by the new parser continues its session', async () => {
  const file = createFile()
  await importEarlier(file)
  await importFile(file, [...file.lines, ...file.more.slice(0, 0)])
  const before = await messagesOf(file)
  await importFile(file, [...file.lines, ...file.more], '.gz')
  const after = await messagesOf(file)
  expect(after.slice(0, before.length)).toEqual(before)
  expect(after.slice(before.length).map(({ parts }) => parts[0]?.text)).toEqual(['and the potoroo', 'Also done.'])
})

test('each input is stored once, even if the file grew before its import by the new parser', async () => {
  const file = createFile()
  await importEarlier(file)
  await importFile(file, [...file.lines, ...file.more])
  await importFile(file, [...file.lines, ...file.more])
  expect(inputsOf(await messagesOf(file))).toEqual([...BEFORE, ...DROPPED, 'and the potoroo'])
})

test('a new session has all inputs in their order and no notice', async () => {
  const file = createFile()
  await importFile(file, file.lines)
  const texts = (await messagesOf(file)).map(({ role, parts }) => `${role}: ${parts[0]?.text ?? ''}`)
  expect(texts).toEqual([
    'user: Tidy the parser.',
    'assistant: ',
    'tool: ok',
    'user: also rename it to quokka',
    'assistant: Renamed.',
    'assistant: The numbat is done.',
    'user: /review the bandicoot',
    'assistant: Reviewed.',
  ])
})

test('a compressed file of an unknown kind is reported by name', async () => {
  const file = createFile()
  expect(await importFile({ ...file, name: `${file.name}.xz` }, file.lines)).toMatch(
    /\.jsonl\.xz: is skipped: only \.jsonl, /,
  )
})
