import { describe, expect, it } from 'vitest'
import type { JsonObject } from '../../functions/domain/json.ts'
import { readOutput } from '../../functions/tools/read-output.ts'
import { toolContext } from './tool-context.ts'

const POINTER = 'output:01ARZ3NDEKTSV4RRFFQ69G5FAV'
const context = toolContext({
  readOutput: async (pointer) =>
    pointer === POINTER ? { text: 'one\ntwo\nthree\nfour\nfive\nsix\n', toolName: 'shell', session: 's-1' } : undefined,
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

  it('says that an output has one line, not lines', async () => {
    const short = toolContext({ readOutput: async () => ({ text: 'one', toolName: 'shell', session: 's-1' }) })
    const { text } = await readOutput.execute({ pointer: POINTER }, short)
    expect(text).toBe(`${POINTER} (shell, 1 line), lines 1-1:\n1: one`)
  })

  it('reads around a text', async () => {
    expect(await read({ pointer: POINTER, pattern: 'FOUR', context: 1 })).toContain('3: three\n4: four\n5: five')
  })

  it.each([
    [{ pointer: 'output:unknown' }, 'there is no output behind output:unknown'],
    [{ pointer: POINTER, lines: '1', pattern: 'one' }, 'not both'],
    [{ pointer: POINTER, lines: 'all' }, 'lines'],
    [{ pointer: POINTER, lines: '5-2' }, 'lines 5-2 end before they begin'],
    [{ pointer: POINTER, lines: '0-0' }, 'lines 0-0 end before they begin'],
    [{}, 'pointer'],
  ])('tells the model what is wrong: %j', async (input, message) => {
    await expect(read(input)).rejects.toThrow(message)
  })
})
