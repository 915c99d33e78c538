import { describe, expect, test } from 'vitest'
import { readClaudeCode } from '../../../functions/log/session-files/claude-code.ts'
import { readCodex } from '../../../functions/log/session-files/codex.ts'
import type { FileMessage } from '../../../functions/log/session-files/transcript.ts'

const BESIDE = { agentLines: () => undefined, output: () => undefined }
const linesOf = (records: readonly object[]) => records.map((value, place) => ({ line: place + 1, value }))
/** The text of each part of each input, and the media type and bytes of files. */
const inputsOf = (messages: readonly FileMessage[]): unknown[] =>
  messages
    .filter(({ value }) => value['role'] === 'user')
    .flatMap(({ value }) => value['parts'] as { text?: string; media_type?: string; data?: string }[])
    .map(({ text, media_type: type, data }) => text ?? [type, Buffer.from(data ?? '', 'base64').toString()])

describe('Claude Code', () => {
  const inputs = (...records: readonly object[]): unknown[] =>
    inputsOf(readClaudeCode(linesOf(records.map((one, place) => ({ uuid: `u${place}`, ...one }))), BESIDE, 2).messages)
  const user = (content: unknown, more: object = {}): object => ({ type: 'user', message: { content }, ...more })
  const queued = (prompt: unknown, more: object = {}): object => ({
    type: 'attachment',
    attachment: { type: 'queued_command', prompt, ...more },
  })

  test.each([
    ['a text', queued('go on')],
    ['blocks', queued([{ type: 'text', text: 'go on' }])],
    ['a prompt of a human', queued('go on', { commandMode: 'prompt', origin: { kind: 'human' } })],
    ['a queued text of an origin that is not known', queued('go on', { origin: { kind: 'cli' } })],
    ['a text of an origin that is not known', user('go on', { origin: { kind: 'cli' } })],
    ['a text without the form of a notice', user('go on', { origin: { kind: 'task-notification' } })],
    ['a text behind a reminder', user('<system-reminder>mind</system-reminder>\n\ngo on')],
    [
      'a text before reminders',
      user('go on\n<system-reminder>a</system-reminder> <system-reminder>b</system-reminder>'),
    ],
    [
      'a text beside the block of a reminder',
      user([
        { type: 'text', text: 'go on' },
        { type: 'text', text: '<system-reminder>x</system-reminder>' },
      ]),
    ],
  ])('field/07/inputs: %s is an input', (_, record) => expect(inputs(record)).toEqual(['go on']))

  test.each([
    ['a queued notice', queued('done', { commandMode: 'task-notification' })],
    ['a queued message of a peer', queued('done', { origin: { kind: 'peer' } })],
    ['queued bookkeeping', queued('done', { isMeta: true })],
    ['a record of another origin', user('done', { origin: { kind: 'coordinator' } })],
    ['a notice', user('<task-notification><status>completed</status></task-notification>')],
    ['an output of a command', user('<bash-stdout>done</bash-stdout><bash-stderr></bash-stderr>')],
    ['a caveat', user('<local-command-caveat>Caveat</local-command-caveat>')],
    ['an interruption', user([{ type: 'text', text: '[Request interrupted by user for tool use]' }])],
    ['a command without arguments', user('<command-name>/model</command-name><command-args></command-args>')],
    ['a reminder', user('<system-reminder>mind</system-reminder>')],
  ])('field/09/notices: %s is no input', (_, record) => expect(inputs(record)).toEqual([]))

  test('a result is imported, whatever the origin of its record', () => {
    const call = { type: 'tool_use', id: 't', name: 'Bash', input: {} }
    const result = { type: 'tool_result', tool_use_id: 't', content: 'a.txt' }
    const records = [
      { uuid: 'a', type: 'assistant', message: { content: [call] } },
      { uuid: 'b', ...user([result, { type: 'text', text: 'done' }], { origin: { kind: 'coordinator' } }) },
    ]
    const { messages } = readClaudeCode(linesOf(records), BESIDE, 2)
    expect(messages.map(({ value }) => value)).toMatchObject([
      { role: 'assistant' },
      { role: 'tool', parts: [{ type: 'text', text: 'a.txt' }] },
    ])
  })

  test('field/07/queued-twice: a queued input is stored once, even if a copy and a user line repeat it', () => {
    const copied = { ...queued('go on', { source_uuid: 's' }), uuid: 'q' }
    expect(inputs(copied, copied, { ...user('go on'), uuid: 's' })).toEqual(['go on'])
  })

  test('field/07/command-arguments: a command keeps its arguments if the message tag precedes the name tag', () => {
    const command = '<command-message>review</command-message>\n<command-name>/review</command-name>\n'
    expect(inputs(user(`${command}<command-args>the parser, <b>twice</b></command-args>`))).toEqual([
      '/review the parser, <b>twice</b>',
    ])
  })

  test('field/07/documents: text documents are kept, and so are the addresses of images and documents', () => {
    const document = { type: 'document', source: { type: 'text', media_type: 'text/plain', data: 'naïve notes' } }
    const [image, paper] = ['image', 'document'].map((type) => ({
      type,
      source: { type: 'url', url: `https://example.org/${type}` },
    }))
    expect(inputs(user([document, image, paper]))).toEqual([
      ['text/plain', 'naïve notes'],
      'https://example.org/image',
      'https://example.org/document',
    ])
  })
})

describe('Codex', () => {
  const item = (role: string, ...texts: readonly string[]): object => ({
    type: 'response_item',
    payload: { type: 'message', role, content: texts.map((text) => ({ type: `${role}_text`, text })) },
  })
  const typed = (message: string): object => ({ type: 'event_msg', payload: { type: 'user_message', message } })
  const inputs = (...records: readonly object[]): unknown[] => inputsOf(readCodex(linesOf(records), 2).messages)

  test('field/09/unlisted-item: an item that no event lists counts as program text, whatever it looks like', () => {
    const records = [
      item('user', 'Plugins: bilby'),
      item('user', 'repair it'),
      typed('repair it'),
      item('assistant', 'ok'),
    ]
    expect(inputs(...records)).toEqual(['repair it'])
  })

  test('field/09/quoted-input: an input is found beside a program text that quotes it', () => {
    expect(inputs(item('user', '# Rules: say ok to "ok"'), item('user', 'ok'), typed('ok'))).toEqual(['ok'])
  })

  test('field/09/editor-context: an input that is surrounded by editor context is kept whole', () => {
    const wrapped = '# Context from my editor\nparser.ts\n## My request:\nrepair it'
    expect(inputs(item('user', wrapped), typed('repair it'))).toEqual([wrapped])
  })

  test('field/09/pasted-tag: an input that looks like a program text is kept if an event lists it', () => {
    const pasted = '<user_instructions>x</user_instructions>'
    expect(inputs(item('user', pasted), typed(pasted))).toEqual([pasted])
  })

  test('field/09/equal-inputs: two equal inputs are two inputs', () => {
    expect(inputs(item('user', 'go on'), typed('go on'), item('user', 'go on'), typed('go on'))).toEqual([
      'go on',
      'go on',
    ])
  })

  test('field/09/without-events: without events, known program texts are dropped and all others are kept', () => {
    const program = ['<environment_context>x</environment_context>', '# AGENTS.md instructions for /p\n\nmind']
    const more = [
      '<user_shell_command>ls</user_shell_command>',
      '<permissions instructions>x</permissions instructions>',
    ]
    expect(inputs(...[...program, ...more, 'repair <b>it</b>'].map((text) => item('user', text)))).toEqual([
      'repair <b>it</b>',
    ])
  })
})
