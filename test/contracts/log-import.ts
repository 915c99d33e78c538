/* Evidence, imports: Each step of an import is atomic. A step is refused if another write changed the session. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { latestId, nextId, nextIds } from '../../functions/domain/ids.ts'
import { progressAfter, type ImportName, type ImportStep } from '../../functions/domain/messages/imported.ts'
import type { Message } from '../../functions/domain/messages/message.ts'
import type { Run } from '../../functions/domain/runs/run.ts'
import { NO_USAGE } from '../../functions/domain/usage/usage.ts'
import { endAfter, expectCode, fresh, header, newRun, openFixture, pausedRun, startRun } from './session-fixture.ts'
import type { SessionFixture } from './session-fixture.ts'
import { COPY_EXPIRY_MS } from '../../functions/domain/session.ts'
import type { Engine, Stores } from './stores.ts'

const name = (more: Partial<ImportName> = {}): ImportName => ({
  keyHash: fresh('key'),
  bodyHash: 'body',
  forGood: false,
  ...more,
})

/** Builds an import step: a turn of two messages after the session's last message. */
async function stepAfter(fixture: SessionFixture, more: Partial<ImportStep> = {}, run?: Run): Promise<ImportStep> {
  const { head, tail } = await header(fixture)
  const now = fixture.clock.now()
  const imported: Run = run ?? {
    id: nextId(tail, now),
    agent: 'helper',
    status: 'completed',
    trigger: 'input',
    onBusy: 'queue',
    clientTools: [],
    createdAt: 5,
    startedAt: 5,
    endedAt: 9,
    rounds: 1,
    usage: NO_USAGE,
    usageByAgent: {},
    stopReason: 'imported',
  }
  const [question = '', said = ''] = nextIds(latestId([head, imported.id]), now, 2)
  const base = { runId: imported.id, agent: 'helper', round: 0, recordedAt: now }
  const messages: Message[] = [
    { ...base, id: question, role: 'user', createdAt: 5, parts: [{ type: 'text', text: 'a \u0000 \ud83d question' }] },
    {
      ...base,
      ...{ id: said, role: 'assistant', createdAt: 9, toolCalls: [], model: 'x/y' },
      parts: [{ type: 'text', text: 'said' }],
      usage: { ...NO_USAGE, inputTokens: 7 },
    },
  ]
  return { messages, runs: [{ run: imported, isNew: run === undefined }], ...more }
}

/** Contract for imports: turns of other logs are added step by step. */
export function logImportContract(engine: Engine): void {
  describe(`log import on ${engine.name}`, () => {
    let stores: Stores
    beforeAll(async () => void (stores = await engine.open()))
    afterAll(() => stores.close())

    test("stores messages and their run unchanged; the session's totals and its latest run do not change", async () => {
      const fixture = await openFixture(stores)
      const step = await stepAfter(fixture)
      const seen = await header(fixture)
      expect(await fixture.imports.append(seen, step)).toEqual(progressAfter(step))
      const { reader, key, sessions } = fixture
      const { messages } = await reader.messages(key, { order: 'ascending', limit: 9 })
      expect(messages).toEqual(step.messages)
      const run = step.runs[0]?.run.id ?? ''
      expect(await reader.run(key, run)).toEqual(step.runs[0]?.run)
      expect((await reader.messages(key, { order: 'ascending', limit: 9, run })).messages).toEqual(step.messages)
      const session = await sessions.read(key)
      expect(session?.totals).toMatchObject({ runs: 0, rounds: 0, usage: NO_USAGE })
      expect(session?.run).toBeUndefined()
      expect(session?.updatedAt).toBe(fixture.clock.now())
      expect(await header(fixture)).toMatchObject({ head: step.messages.at(-1)?.id, generation: seen.generation + 1 })
    })

    test('adds messages to its run in a later step, and the next input follows these messages', async () => {
      const fixture = await openFixture(stores)
      const first = await stepAfter(fixture)
      await fixture.imports.append(await header(fixture), first)
      const run = first.runs[0]?.run as Run
      const second = await stepAfter(fixture, {}, { ...run, rounds: 2, endedAt: 20 })
      await fixture.imports.append(await header(fixture), second)
      const { reader, key } = fixture
      expect(await reader.run(key, run.id)).toMatchObject({ rounds: 2, endedAt: 20, stopReason: 'imported' })
      const started = await startRun(fixture)
      expect((started.message?.id ?? '') > (second.messages.at(-1)?.id ?? '')).toBe(true)
      const { messages } = await reader.messages(key, { order: 'ascending', limit: 9, run: run.id })
      expect(messages).toEqual([...first.messages, ...second.messages])
    })

    test('is refused while a run is active, queued or paused, and after a concurrent write', async () => {
      const busy = await openFixture(stores)
      const step = await stepAfter(busy)
      const seen = await header(busy)
      await startRun(busy)
      expect(await busy.imports.append(seen, step)).toBeUndefined()
      expect(await busy.imports.append(await header(busy), await stepAfter(busy))).toBeUndefined()
      const queued = await openFixture(stores)
      await queued.inbox.enqueue(queued.key, newRun())
      expect(await queued.imports.append(await header(queued), await stepAfter(queued))).toBeUndefined()
      const paused = await openFixture(stores)
      await pausedRun(paused, [{ name: 'ask', needs: 'result' }])
      expect(await paused.imports.append(await header(paused), await stepAfter(paused))).toBeUndefined()
      const raced = await openFixture(stores)
      const [stale, late] = [await header(raced), await stepAfter(raced)]
      await raced.peer.imports.append(stale, await stepAfter(raced))
      expect(await raced.imports.append(stale, late)).toBeUndefined()
      const { messages } = await raced.reader.messages(raced.key, { order: 'ascending', limit: 9 })
      expect(messages).toHaveLength(2)
    })

    test('does not delay the next input, whose run starts at once', async () => {
      const fixture = await openFixture(stores)
      const step = await stepAfter(fixture)
      await fixture.imports.append(await header(fixture), step)
      const { started } = await fixture.peer.inbox.enqueue(fixture.key, newRun({ startAs: fresh('owner') }))
      expect((started?.message?.id ?? '') > (step.messages.at(-1)?.id ?? '')).toBe(true)
    })

    test('a later input gets a run with a higher id, whatever the clocks show', async () => {
      for (const startAs of [undefined, fresh('owner')]) {
        const fixture = await openFixture(stores)
        fixture.clock.advance(9000)
        const step = await stepAfter(fixture)
        await fixture.imports.append(await header(fixture), step)
        fixture.clock.advance(-5000)
        const { runId } = await fixture.peer.inbox.enqueue(fixture.key, newRun({ ...(startAs && { startAs }) }))
        expect(runId > (step.runs[0]?.run.id ?? '')).toBe(true)
      }
    })

    test('prevents the continuation of a failed run, because the imported run is later', async () => {
      for (const startAs of [undefined, fresh('owner')]) {
        const fixture = await openFixture(stores)
        const { lease } = await startRun(fixture)
        await fixture.log.endRun(lease, endAfter(fixture, lease, lease.head, 'failed'))
        await fixture.imports.append(await header(fixture), await stepAfter(fixture))
        const again = newRun({ trigger: 'continue', ...(startAs && { startAs }) })
        await expectCode(fixture.peer.inbox.enqueue(fixture.key, again), 'nothing_to_continue')
      }
    })

    test('stores its messages and the progress under its name in one write', async () => {
      const fixture = await openFixture(stores)
      const { imports, key } = fixture
      const one = name()
      expect(await imports.progress(key, one)).toBeUndefined()
      const first = await stepAfter(fixture, { name: one })
      const before = await imports.append(await header(fixture), first)
      expect(await fixture.peer.imports.progress(key, one)).toEqual(before)
      // A caller that repeats the import from the beginning is refused. A caller that has missed a step is refused,
      // too.
      expect(await imports.append(await header(fixture), await stepAfter(fixture, { name: one }))).toBeUndefined()
      const second = await stepAfter(fixture, { name: one, before: before as never })
      const after = await imports.append(await header(fixture), second)
      expect(after).toMatchObject({ messages: 4, first: first.messages[0]?.id, last: second.messages[1]?.id })
      const again = await stepAfter(fixture, { name: one, before: before as never })
      expect(await imports.append(await header(fixture), again)).toBeUndefined()
      await expectCode(imports.progress(key, { ...one, bodyHash: 'other' }), 'idempotency_conflict')
    })

    test('forgets a name after a day, unless the name is permanent', async () => {
      const fixture = await openFixture(stores)
      const { imports, key, clock } = fixture
      const [short, long] = [name(), name({ forGood: true })]
      for (const one of [short, long])
        await imports.append(await header(fixture), await stepAfter(fixture, { name: one }))
      clock.advance(86_400_001)
      expect(await imports.progress(key, short)).toBeUndefined()
      expect(await imports.progress(key, long)).toMatchObject({ messages: 2 })
      expect(await imports.append(await header(fixture), await stepAfter(fixture, { name: short }))).toMatchObject({
        messages: 2,
      })
    })

    test('reserves its name: an input or a summary under this name is rejected while the name is remembered', async () => {
      for (const one of [name(), name({ forGood: true })]) {
        const fixture = await openFixture(stores)
        await fixture.imports.append(await header(fixture), await stepAfter(fixture, { name: one }))
        const idempotency = { keyHash: one.keyHash, bodyHash: 'other' }
        await expectCode(fixture.inbox.enqueue(fixture.key, newRun({ idempotency })), 'idempotency_conflict')
        await expectCode(fixture.sessions.summaryUnder(fixture.key, idempotency), 'idempotency_conflict')
      }
    })

    test('postpones the expiry of an incomplete copy at each step, and removes this expiry at the last step', async () => {
      const open = (more: object = {}) => openFixture(stores, { awaitsCopy: true, ...more })
      const [empty, part, complete, used, kept] = [await open(), await open(), await open(), await open(), await open()]
      const short = await open({ ttlDays: 2 })
      const append = async (fixture: SessionFixture, isPartOfCopy: boolean) =>
        expect(
          await fixture.imports.append(await header(fixture), await stepAfter(fixture, { isPartOfCopy })),
        ).toBeDefined()
      const isExpired = async ({ janitor, clock, key }: SessionFixture): Promise<boolean> =>
        (await janitor.expired(clock.now(), 10_000)).some(({ session }) => session === key.session)
      const expire = ({ deletion, key }: SessionFixture) => deletion.tombstone(key, { ifExpired: true })
      const { lease } = await startRun(used)
      await used.log.endRun(lease, endAfter(used, lease, lease.head))
      stores.clock.advance(COPY_EXPIRY_MS - 7 * 3_600_000)
      for (const fixture of [part, complete, used, kept, short]) await append(fixture, true)
      for (const fixture of [complete, short]) await append(fixture, false)
      await append(kept, true)
      await append(kept, false)
      await append(kept, true)
      stores.clock.advance(COPY_EXPIRY_MS - 1_000)
      expect(await isExpired(part)).toBe(false)
      expect(await expire(part)).toBe(false)
      stores.clock.advance(2_000)
      const expired = [empty, part]
      for (const fixture of [...expired, complete, used, kept, short])
        expect([await isExpired(fixture), await expire(fixture)]).toEqual(Array(2).fill(expired.includes(fixture)))
      stores.clock.advance(COPY_EXPIRY_MS)
      expect(await expire(short)).toBe(true)
    })

    test('is deleted with its session, which then accepts no further steps', async () => {
      const fixture = await openFixture(stores)
      const { imports, key, deletion } = fixture
      const one = name({ forGood: true })
      await imports.append(await header(fixture), await stepAfter(fixture, { name: one }))
      const [seen, step] = [await header(fixture), await stepAfter(fixture)]
      await deletion.tombstone(key)
      expect(await imports.append(seen, step)).toBeUndefined()
      await expectCode(imports.progress(key, one), 'session_not_found')
      while ((await deletion.removeRows(key, 100)).more);
      expect(await deletion.state(key)).toMatchObject({ messages: 2, runs: 1 })
    })

    test('rejects when the store fails', async () => {
      const broken = await engine.open()
      try {
        const fixture = await openFixture(broken)
        const [seen, step] = [await header(fixture), await stepAfter(fixture)]
        await broken.breakDown()
        await expectCode(fixture.imports.append(seen, step), 'storage_failed')
        await expectCode(fixture.imports.progress(fixture.key, name()), 'storage_failed')
      } finally {
        await broken.close()
      }
    })
  })
}
