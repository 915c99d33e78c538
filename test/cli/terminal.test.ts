import { PassThrough } from 'node:stream'
import { describe, expect, test } from 'vitest'
import { harmlessJson, harmlessPieces, localTime, oneLine, table } from '../../functions/cli/terminal.ts'
import { harmless, terminalText } from '../../functions/runtime/terminal-output.ts'
import { askAboutCalls } from '../../functions/cli/waiting-calls.ts'

describe('text on a terminal', () => {
  test('cannot move the cursor, set a title, hide itself or reverse its letters', () => {
    const hostile = 'a\u001b[2J\u001b]0;title\u0007b\rc\u0008\u009b31m\u202Eback'
    expect(harmless(hostile)).toBe('a�[2J�]0;title�b�c��31m�back')
    expect(harmless('one\r\n\ttwo\n')).toBe('one\n\ttwo\n')
  })

  test('keeps the sequences that set colours and replace a line, but no other control sequences', () => {
    const own = '\u001b[1;31mred\u001b[0m\r\u001b[Knext\n'
    expect(terminalText(own)).toBe(own)
    expect(terminalText(`${own}\u001b]0;title\u0007\u001b[2J\rback\u001b[31`)).toBe(`${own}�]0;title��[2J�back�[31`)
  })

  test('is harmless in chunks, even if a chunk ends within a character', async () => {
    const bytes = Buffer.from('a\u001b[2J\u009b31mü')
    async function* pieces() {
      for (let at = 0; at < bytes.length; at += 3) yield bytes.subarray(at, at + 3)
    }
    expect((await Array.fromAsync(harmlessPieces(pieces()))).join('')).toBe('a�[2J�31mü')
  })

  test('keeps its value when it is written as JSON', () => {
    const value = { text: 'a\u001b[2J\u009b31m\u202Eback\u007f' }
    const line = harmlessJson(value)
    expect(line).toBe('{"text":"a\\u001b[2J\\u009b31m\\u202eback\\u007f"}')
    expect(JSON.parse(line)).toEqual(value)
  })

  test('is truncated to the width when it is shown on one line', () => {
    expect(oneLine(' a\n b\tc ', 10)).toBe('a b c')
    expect(oneLine('abcdef', 4)).toBe('abc…')
  })

  test('has aligned columns in a table, and local times', () => {
    expect(
      table([
        ['A', 'B'],
        ['long', 'x'],
        ['s', ''],
      ]),
    ).toBe('A     B\nlong  x\ns\n')
    expect(localTime('2026-01-02T03:04:05.678Z')).toMatch(/^2026-01-0[123] \d\d:\d\d:05$/)
  })
})

describe('a question at a terminal', () => {
  const call = {
    agent: 'default',
    message_id: 'm1',
    tool_call_id: 'c1',
    tool_name: 'send',
    arguments: '{"to":"\u001b[2Jyou"}',
  }

  async function decide(needs: 'approval' | 'result', keys: string): Promise<{ decided: unknown; asked: string }> {
    const [input, output] = [new PassThrough(), new PassThrough()]
    let asked = ''
    output.on('data', (chunk: Buffer) => (asked += chunk.toString()))
    const decided = askAboutCalls([{ ...call, needs }], { input, output })
    for (const key of keys) input.write(key)
    return { decided: await decided, asked }
  }

  test('lets a person allow or deny a call, and shows no control characters of the call', async () => {
    const { decided, asked } = await decide('approval', 'y')
    expect(decided).toEqual({ results: [{ message_id: 'm1', tool_call_id: 'c1', approve: true }] })
    expect(asked).toContain('Allow this call? send {"to":"�[2Jyou"}')
    expect((await decide('approval', '\r')).decided).toMatchObject({ results: [{ approve: false }] })
  })

  test('accepts the result of a call, or ends without a result', async () => {
    expect((await decide('result', 'yes\r')).decided).toEqual({
      results: [{ message_id: 'm1', tool_call_id: 'c1', output: 'yes' }],
    })
    expect((await decide('result', '\u0003')).decided).toBeUndefined()
  })
})
