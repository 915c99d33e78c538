import { afterEach, beforeEach, expect, test } from 'vitest'
import { builtInTools } from '../../functions/runtime/built-in-tools.ts'
import { expectJson, openStage } from './stage.ts'
import type { Stage } from './stage.ts'

let stage: Stage
beforeEach(async () => {
  stage = await openStage()
  await expectJson(stage, 201, 'POST', '/v1/sessions', { id: 's' })
})
afterEach(() => stage.close())

/** Each definition holds a value against the next one twice. */
const doubling = (count: number): object => ({
  $ref: '#/$defs/d0',
  $defs: Object.fromEntries(
    Array.from({ length: count + 1 }, (_, at) => {
      const next = { $ref: `#/$defs/d${at + 1}` }
      return [`d${at}`, at < count ? { allOf: [next, next] } : { type: 'object' }]
    }),
  ),
})

test('parameters whose references double 30 times are refused with the place, at once', async () => {
  const body = { content: 'x', tools: [{ name: 'a', description: '', parameters: doubling(30) }] }
  const problem = await expectJson(stage, 400, 'POST', '/v1/sessions/s/messages', body)
  expect(problem['errors']).toMatchObject([{ path: 'body.tools[0].parameters.$defs.d23' }])
  expect(await expectJson(stage, 200, 'GET', '/v1/sessions/s/messages')).toMatchObject({ data: [] })
})

test.each([...builtInTools().keys()])('a client tool cannot be called %s, as a built-in one is', async (name) => {
  const tools = [
    { name: 'mine', description: '', parameters: {} },
    { name, description: '', parameters: {} },
  ]
  const problem = await expectJson(stage, 400, 'POST', '/v1/sessions/s/messages', { content: 'x', tools })
  expect(problem['errors']).toMatchObject([{ path: 'body.tools[1].name' }])
  expect(await expectJson(stage, 200, 'GET', '/v1/sessions/s/runs')).toMatchObject({ data: [] })
})
