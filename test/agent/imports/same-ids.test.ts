/*
 * If an import dies after it stored an object and before it stored the row, the object has no reference. Such an object is
 * harmless (promises O5, L10), even if a later import gets the same ids. A later import gets the same ids if the log's last id is
 * ahead of this machine's clock (promises L1).
 */
import { afterEach, expect, test } from 'vitest'
import { createSystemClock } from '../../../functions/adapters/memory/system-clock.ts'
import type { ClosedMessage } from '../../../functions/domain/messages/closed-message.ts'
import { openHarness } from '../harness.ts'
import type { Harness } from '../harness.ts'

let harness: Harness
afterEach(() => harness.close())

const system = createSystemClock()

function turnWith(text: string): ClosedMessage[] {
  const of = {
    role: 'assistant',
    parts: [{ type: 'tool_call', id: 'c' }],
    toolCalls: [{ id: 'c', name: 'echo', arguments: '{}' }],
  } as const
  const result = { role: 'tool', of, sequence: 0, status: 'completed', mediaType: 'text/plain; charset=utf-8' } as const
  return [
    { role: 'user', parts: [{ type: 'text', text: 'hello' }] },
    of,
    { ...result, parts: [{ type: 'text', text: text.repeat(100_000) }] },
  ] as ClosedMessage[]
}

test('an import succeeds after an import with the same ids has crashed', async () => {
  let ahead = 3_600_000
  let isDown = false
  harness = await openHarness({
    clock: { ...system, now: () => system.now() + ahead },
    script: [{ text: 'hi' }],
    change: (ports) => ({
      ...ports,
      imports: {
        ...ports.imports,
        append: async (...given) => {
          if (isDown) throw new Error('the process died here')
          return ports.imports.append(...given)
        },
      },
    }),
  })
  // The first run is written by a machine whose clock is an hour ahead.
  await harness.settled(await harness.submit('one'))
  ahead = 0
  const { service, session } = harness
  isDown = true
  await expect(service.importMessages(session, turnWith('a'), {})).rejects.toThrow('died')
  isDown = false
  await expect(service.importMessages(session, turnWith('b'), {})).resolves.toMatchObject({ messages: 3 })
})
