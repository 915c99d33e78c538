/* Evidence, cloud: When eight processes write one session on DynamoDB, the log has no fork. */
import { spawn } from 'node:child_process'
import type { ChildProcessByStdio } from 'node:child_process'
import { once } from 'node:events'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Readable, Writable } from 'node:stream'
import { expect, test } from 'vitest'
import { createDiskOutputStore } from '../../../../functions/adapters/disk/output-store.ts'
import { createSystemClock } from '../../../../functions/adapters/memory/system-clock.ts'
import { newRun } from '../../../contracts/session-fixture.ts'
import { allMessages } from '../../../contracts/snapshot.ts'
import { dynamodbClient } from '../../../engines/clients.ts'
import { withEngines } from '../../../engines/with-engines.ts'
import { isWhole } from '../../../whole.ts'
import { createTestTable, dynamodbPorts } from '../engine.ts'
import type { Report } from './racing-writer.ts'

const WRITERS = 8
/** `ROUNDS=1000 npm run test:engines -- test/adapters/dynamodb/races/racing-processes.engine.test.ts` */
const ROUNDS = Number(process.env['ROUNDS'] ?? (isWhole ? 400 : 24))
const RACE_TIMEOUT_MS = 300_000 + 10_000 * ROUNDS

withEngines(['dynamodb'], ({ dynamodb }) => {
  test(
    `${WRITERS} processes that write one session for ${ROUNDS} rounds produce one log; each rejected write gets a conflict`,
    async () => {
      const client = dynamodbClient(dynamodb)
      const tableName = await createTestTable(client)
      const outputs = createDiskOutputStore({ folder: tmpdir() })
      const ports = dynamodbPorts({ client, tableName, clock: createSystemClock(), outputs })
      const key = { tenant: 'default', session: 'raced' }
      await ports.sessions.create({ ...key, agent: 'helper', metadata: {} })
      const { started } = await ports.inbox.enqueue(key, newRun({ startAs: 'first' }))
      if (started === undefined) throw new Error('the session was not idle')
      await ports.lease.release(started.lease)

      const begun = performance.now()
      const reported = await race([dynamodb, tableName, key.tenant, key.session])
      const seconds = (performance.now() - begun) / 1000
      const stored = reported.flatMap((one) => ('stored' in one ? [one] : []))
      const lost = (kind: 'take' | 'write') => reported.filter((one) => 'lost' in one && one.lost === kind).length

      const messages = await allMessages(ports.reader, key)
      const rounds = messages.filter(({ role }) => role === 'assistant')
      expect(rounds.map(({ id }) => id)).toEqual(stored.map((one) => one.stored).toSorted())
      const generations = rounds.map(({ id }) => stored.find((one) => one.stored === id)?.generation ?? 0)
      expect(generations).toEqual([...new Set(generations)].toSorted((left, right) => left - right))
      expect(stored.length).toBeGreaterThanOrEqual(ROUNDS)
      const calls = messages.flatMap((message) => (message.role === 'tool' ? [message] : []))
      expect(calls.map(({ assistantMessageId }) => assistantMessageId)).toEqual(rounds.map(({ id }) => id))
      expect(calls.every(({ status }) => status === 'completed')).toBe(true)
      expect((await ports.lease.readHeader(key))?.head).toBe(calls.at(-1)?.id)
      expect(lost('write')).toBe(stored.length)
      if (stored.length >= 50) expect(lost('take')).toBeGreaterThan(0)
      process.stdout.write(
        `${stored.length} rounds by ${WRITERS} processes in ${seconds.toFixed(1)} s; ` +
          `${lost('take')} lost takes, ${lost('write')} late writes refused\n`,
      )
      client.destroy()
    },
    RACE_TIMEOUT_MS,
  )
})

/** Lets the writers compete until the rounds are stored and each writer has ended. */
async function race(place: readonly string[]): Promise<Report[]> {
  const reported: Report[] = []
  const writers = Array.from({ length: WRITERS }, (_, number) => startWriter([...place, `writer ${number}`]))
  const endAll = (): void => writers.forEach(({ stdin }) => stdin.end())
  const ends = writers.map(async (writer) => {
    const exit = once(writer, 'exit')
    for await (const line of createInterface({ input: writer.stdout })) {
      reported.push(JSON.parse(line) as Report)
      if (reported.filter((one) => 'stored' in one).length >= ROUNDS) endAll()
    }
    await exit
    return writer.exitCode
  })
  const guard = setTimeout(() => writers.forEach((writer) => writer.kill('SIGKILL')), RACE_TIMEOUT_MS - 10_000)
  expect(await Promise.all(ends)).toEqual(writers.map(() => 0))
  clearTimeout(guard)
  return reported
}

const startWriter = (options: readonly string[]): ChildProcessByStdio<Writable, Readable, null> =>
  spawn(process.execPath, [join(import.meta.dirname, './racing-writer.ts'), ...options], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
