/* Evidence, durability: A failed run can be continued behind cancelled inputs. Timeouts may be as long as timers allow. */
import { expect, test } from 'vitest'
import { z } from 'zod'
import type { Json } from '../../functions/domain/json.ts'
import { defineTool } from '../../functions/tools/define-tool.ts'
import { toolContext } from './tool-context.ts'

const executed: unknown[] = []
const tool = defineTool({
  name: 'ship',
  description: 'Ships an order.',
  input: z.strictObject({
    order: z.object({ id: z.string().describe('As printed.'), lines: z.array(z.int()) }),
    express: z.boolean().default(false),
  }),
  async execute(input) {
    executed.push(input)
    return { text: 'shipped' }
  },
})
const execute = (input: Json) => tool.execute(input, toolContext())

test('a tool is by default not repeatable, needs no approval and has a timeout of 60 s', () => {
  expect(tool).toMatchObject({ idempotent: false, needsApproval: false, timeoutMs: 60_000 })
})

test.each([0, -1, NaN, 2 ** 31, 2 ** 40, Infinity])('a tool with a timeout of %d ms is rejected', (timeoutMs) => {
  const define = (ms: number) =>
    defineTool({
      ...{ name: 'wait', description: '', timeoutMs: ms, input: z.strictObject({}) },
      execute: async () => ({ text: '' }),
    })
  expect(() => define(timeoutMs)).toThrow(
    `timeoutMs of wait is ${timeoutMs}: it must be above 0 and at most 2147483647 (24.8 days)`,
  )
  expect(define(2 ** 31 - 1).timeoutMs).toBe(2 ** 31 - 1)
})

test('the model gets the schema with descriptions, and fields with a default are optional', () => {
  expect(tool.parameters).toEqual({
    type: 'object',
    properties: {
      order: {
        type: 'object',
        properties: {
          id: { type: 'string', description: 'As printed.' },
          lines: { type: 'array', items: expect.objectContaining({ type: 'integer' }) },
        },
        required: ['id', 'lines'],
      },
      express: { type: 'boolean', default: false },
    },
    required: ['order'],
    additionalProperties: false,
  })
})

test('valid arguments reach the tool, with defaults filled in', async () => {
  expect(await execute({ order: { id: 'A-1', lines: [1] } })).toEqual({ text: 'shipped' })
  expect(executed.at(-1)).toEqual({ order: { id: 'A-1', lines: [1] }, express: false })
})

test('invalid arguments do not reach the tool, and the message names every invalid path', async () => {
  const before = executed.length
  const message: unknown = await execute({ order: { id: 7, lines: [1, 'two'] }, exprss: true }).catch(
    (error: Error) => error.message,
  )
  expect(String(message).split('\n')).toEqual([
    'the arguments do not fit the schema of ship:',
    '- order.id: must be a string',
    '- order.lines.1: must be a number',
    '- exprss: is not a known field',
  ])
  expect(executed).toHaveLength(before)
})

test('null counts as no arguments', async () => {
  await expect(execute(null)).rejects.toThrow('- order: is missing')
})

test.each([[[]], ['text'], [7]])('arguments that are not an object are rejected: %j', async (input) => {
  await expect(execute(input)).rejects.toThrow('- (arguments): must be an object')
})
