import { expect, test } from 'vitest'
import { openHttpHarness } from '../harness.ts'
import { openAiClient } from './openai-client.ts'

test("a model's creation time is the start of the process, in the list and in a single read", async () => {
  const before = Math.floor(Date.now() / 1000)
  const harness = await openHttpHarness()
  try {
    const client = openAiClient(harness)
    const [model] = (await client.models.list()).data
    expect(model).toMatchObject({ id: 'default', object: 'model', owned_by: 'tooltrail' })
    expect(model?.created).toBeGreaterThanOrEqual(before)
    expect(await client.models.retrieve('default')).toEqual(model)
  } finally {
    await harness.close()
  }
})
