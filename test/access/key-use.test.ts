/* Evidence, access: The day of a key's last use is stored. Functions on AWS may store it, but cannot change keys. */
import { expect, test } from 'vitest'
import { createKeyUse } from '../../functions/access/key-use.ts'
import { createManualClock } from '../contracts/stores.ts'

const DAY_MS = 86_400_000

function recorder() {
  const clock = createManualClock()
  const uses: string[] = []
  const errors: unknown[] = []
  let failing = false
  const keyUse = createKeyUse({
    keys: {
      used: async (id, now) => {
        if (failing) throw new Error('the storage is gone')
        uses.push(`${id} ${new Date(now).toISOString().slice(0, 10)}`)
      },
    },
    clock,
    log: { info: () => undefined, warn: () => undefined, error: (_text, error) => void errors.push(error) },
  })
  return { clock, uses, errors, keyUse, fail: (fails: boolean) => void (failing = fails) }
}

test('a process stores one use of each key per day', async () => {
  const { clock, uses, keyUse } = recorder()
  for (const id of ['a', 'b', 'a', 'a']) await keyUse({ id })
  clock.advance(DAY_MS)
  for (const id of ['a', 'a']) await keyUse({ id })
  expect(uses).toEqual(['a 2026-01-05', 'b 2026-01-05', 'a 2026-01-06'])
})

test('a request is accepted although its key’s use cannot be stored; the key’s next request stores the use', async () => {
  const { uses, errors, keyUse, fail } = recorder()
  fail(true)
  await keyUse({ id: 'a' })
  expect(errors).toHaveLength(1)
  fail(false)
  await keyUse({ id: 'a' })
  expect(uses).toEqual(['a 2026-01-05'])
})

test('a process remembers a bounded number of keys', async () => {
  const { uses, keyUse } = recorder()
  for (let n = 0; n < 10_001; n++) await keyUse({ id: `key ${n}` })
  await keyUse({ id: 'key 0' })
  expect(uses).toHaveLength(10_002)
})
