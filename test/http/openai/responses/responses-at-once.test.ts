import { expect, test } from 'vitest'
import { expectJson, openHttpHarness } from '../../harness.ts'

test('a Response that many clients request concurrently is not built for each client, and all results are equal', async () => {
  let made = 0
  const harness = await openHttpHarness({
    script: [{ text: 'hi' }],
    change: (ports) => ({
      ...ports,
      reader: {
        ...ports.reader,
        messages: (key, query) => {
          if (query.run !== undefined) made++
          return ports.reader.messages(key, query)
        },
      },
    }),
  })
  try {
    const input = { model: 'default', input: 'hi' }
    const { id } = await expectJson<{ id: string }>(harness, 200, 'POST', '/openai/v1/responses', input)
    const read = async () => expectJson(harness, 200, 'GET', `/openai/v1/responses/${id}`)
    made = 0
    const one = await read()
    const once = made
    expect(once).toBeGreaterThan(0)
    made = 0
    for (const other of await Promise.all(Array.from({ length: 30 }, read))) expect(other).toEqual(one)
    expect(made).toBeLessThan(15 * once)
  } finally {
    await harness.close()
  }
})
