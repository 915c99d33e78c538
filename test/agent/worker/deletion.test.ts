import { expect, test } from 'vitest'
import { continueDeletion } from '../../../functions/agent/worker/delete-session.ts'
import { expireSession, serveHint } from '../../../functions/agent/worker/serve-hint.ts'
import type { OutputStore } from '../../../functions/ports/output-store.ts'
import type { SessionDeletion } from '../../../functions/ports/session-deletion.ts'

const KEY = { tenant: 'default', session: 's1' }

/**
 * Creates ports that record their calls, for a session whose rows take `steps` steps to remove. `removed` is undefined for a
 * session without a deletion state.
 */
function recording(steps: number, removed: boolean | undefined) {
  const asked: string[] = []
  let [left, now] = [steps, 0]
  const deletion = {
    tombstone: async (_key: unknown, options: unknown) => {
      asked.push(`tombstone ${JSON.stringify(options)}`)
      return steps > 0
    },
    removeRows: async () => {
      asked.push('removeRows')
      now += 10
      return { removed: 1, more: --left > 0 }
    },
    markRemoved: async (_key: unknown, objects: number) => void asked.push(`markRemoved ${objects}`),
    finish: async () => void asked.push('finish'),
    state: async () => (removed === undefined ? undefined : { removed, messages: 0, runs: 0, objects: 0, entries: 0 }),
  } as unknown as SessionDeletion
  const outputs = {
    removeAll: async () => {
      asked.push('removeAll')
      return 3
    },
  } as unknown as OutputStore
  const clock = { now: () => now, sleep: async () => undefined }
  const worker = { serve: async () => void asked.push('serve') }
  const queue = { send: async () => void asked.push('hint') }
  return { asked, ports: { deletion, outputs, clock, worker, queue } }
}

test('a deletion removes all rows and then the objects, and finishes after late writers have stopped', async () => {
  const { asked, ports } = recording(3, false)
  await continueDeletion(ports, KEY, Infinity)
  expect(asked).toEqual(['removeRows', 'removeRows', 'removeRows', 'removeAll', 'markRemoved 3'])
})

test('the last step of a deletion removes the rows of late writers and finishes the deletion', async () => {
  const { asked, ports } = recording(3, true)
  await continueDeletion(ports, KEY, Infinity)
  expect(asked).toEqual(['removeAll', 'finish'])
})

test('a deletion stops at its deadline, between two steps', async () => {
  const { asked, ports } = recording(3, false)
  await continueDeletion(ports, KEY, 15)
  expect(asked).toEqual(['removeRows', 'removeRows'])
})

test.each([
  ['executes the runs of a live session', undefined, ['serve']],
  ['continues a deletion', false, ['removeRows', 'removeAll', 'markRemoved 3']],
  ['leaves the last step of a deletion to the sweeper', true, []],
])('a hint %s', async (_, removed, expected) => {
  const { asked, ports } = recording(1, removed)
  await serveHint(ports, KEY, Infinity)
  expect(asked).toEqual(expected)
})

test('an expiry deletes only expired sessions, and sends a hint for the remaining work', async () => {
  const expired = recording(1, undefined)
  await expireSession(expired.ports, KEY)
  expect(expired.asked).toEqual(['tombstone {"ifExpired":true}', 'hint'])
  const inUse = recording(0, undefined)
  await expireSession(inUse.ports, KEY)
  expect(inUse.asked).toEqual(['tombstone {"ifExpired":true}'])
})
