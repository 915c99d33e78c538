/* Evidence, imports: Imports, forks and exports succeed even if an object is lost. */
/* A note replaces a lost object, with a warning (promises O4). The conversation, forks and exports of the session still work. */
import { afterEach, expect, test } from 'vitest'
import { openHarness } from '../harness.ts'
import type { Harness } from '../harness.ts'

let harness: Harness
afterEach(() => harness.close())

test('a session with a missing file can be forked', async () => {
  harness = await openHarness({ script: [{ text: 'nice' }, { text: 'still here' }] })
  const { ports, key, service } = harness
  const file = { type: 'file', mediaType: 'text/plain', filename: 'a.txt', data: Buffer.from('hello') } as const
  await harness.settled(await harness.submit([{ type: 'text', text: 'look' }, file]))
  const [input, answer] = await harness.log()
  const part = input?.role === 'user' ? input.parts.find((one) => one.type === 'file') : undefined
  await ports.outputs.remove(key, part?.type === 'file' ? part.id : '')
  // The conversation continues.
  expect((await harness.settled(await harness.submit('and now'))).status).toBe('completed')
  const to = await ports.sessions.create({ tenant: key.tenant, session: 'copy', agent: 'default', metadata: {} })
  await expect(service.copyLog(key, answer?.id ?? '', to)).resolves.toBe(2)
})
