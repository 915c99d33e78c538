/* Evidence, limits: `read_output` does not block other work, whatever it reads. */
import { describe, expect, it } from 'vitest'
import type { JsonObject } from '../../functions/domain/json.ts'
import { readOutput } from '../../functions/tools/read-output.ts'
import type { ReadableOutput } from '../../functions/ports/tool.ts'
import { longestTurn } from '../processor-time.ts'
import { toolContext } from './tool-context.ts'

const POINTER = 'output:01ARZ3NDEKTSV4RRFFQ69G5FAV'
const outputOf = (pieces: Iterable<string>): ReadableOutput => ({
  toolName: 'shell',
  session: 's-1',
  pieces: (async function* () {
    yield* pieces
  })(),
})
const context = toolContext({
  readOutput: async (pointer) =>
    pointer === POINTER ? outputOf(['one\ntwo\nthr', 'ee\nfour\nfive\nsix\n']) : undefined,
})
const read = async (input: JsonObject): Promise<string> => (await readOutput.execute(input, context)).text

describe('read_output', () => {
  it('reads from the beginning', async () => {
    expect(await read({ pointer: POINTER })).toBe(
      `${POINTER} (shell, 6 lines), lines 1-6:\n1: one\n2: two\n3: three\n4: four\n5: five\n6: six`,
    )
  })

  it.each([
    ['2', '2: two'],
    ['2-3', '2: two\n3: three'],
    ['5-', '5: five\n6: six'],
  ])('reads lines %s', async (lines, expected) => {
    expect((await read({ pointer: POINTER, lines })).split(':\n')[1]).toBe(expected)
  })

  it('reports one line in the singular', async () => {
    const short = toolContext({ readOutput: async () => outputOf(['one']) })
    const { text } = await readOutput.execute({ pointer: POINTER }, short)
    expect(text).toBe(`${POINTER} (shell, 1 line), lines 1-1:\n1: one`)
  })

  it('reads the lines around a match of the pattern', async () => {
    expect(await read({ pointer: POINTER, pattern: 'FOUR', context: 1 })).toContain('3: three\n4: four\n5: five')
  })

  it('ends at its time limit with a helpful error, and when its call is cancelled', async () => {
    let now = 0
    const endless = (function* () {
      for (;;) yield 'line\n'
    })()
    const abort = new AbortController()
    const late = toolContext({ readOutput: async () => outputOf(endless), now: () => (now += 10) })
    await expect(readOutput.execute({ pointer: POINTER, pattern: 'x' }, late)).rejects.toThrow(/too large.*30 s/u)
    const left = toolContext({ readOutput: async () => outputOf(['a', 'b']), signal: abort.signal })
    abort.abort(new Error('cancelled'))
    await expect(readOutput.execute({ pointer: POINTER }, left)).rejects.toThrow('cancelled')
  })

  const MB = 1_000_000
  it.each([
    ['nearly everything nearly matches', 'a', `${'a'.repeat(199)}b`],
    ['the pattern begins where it cannot end', 'ab', `b${'a'.repeat(199)}`],
    ['a match stands at every place', 'a', 'a'],
    ['every line is empty', '\n', '\n'],
    ['letters change their length in lower case', 'a\u0130', '\u0130\u0130'],
    ['nothing is a whole character', '\ud83d', '\ud83d\ud83d'],
    ['every line has it', 'b\n', 'b'],
  ])('does not block the event loop if %s', async (_, unit, pattern) => {
    const piece = unit.repeat(MB / 2 / unit.length)
    const hostile = toolContext({ readOutput: async () => outputOf(Array.from({ length: 16 }, () => piece)) })
    const heap = process.memoryUsage().heapUsed
    let text = ''
    const longest = await longestTurn(async () => {
      text = (await readOutput.execute({ pointer: POINTER, pattern, context: 20 }, hostile)).text
    })
    expect(text.length).toBeLessThan(20_000)
    expect(longest).toBeLessThan(500)
    expect(process.memoryUsage().heapUsed - heap).toBeLessThan(100 * MB)
  })

  it.each([
    [{ pointer: 'output:unknown' }, 'there is no output behind output:unknown'],
    [{ pointer: POINTER, lines: '1', pattern: 'one' }, 'not both'],
    [{ pointer: POINTER, lines: 'all' }, 'lines'],
    [{ pointer: POINTER, lines: '5-2' }, 'lines 5-2 end before they begin'],
    [{ pointer: POINTER, lines: '0-0' }, 'lines 0-0 end before they begin'],
    [{}, 'pointer'],
  ])('returns an error that the model can correct: %j', async (input, message) => {
    await expect(read(input)).rejects.toThrow(message)
  })
})
