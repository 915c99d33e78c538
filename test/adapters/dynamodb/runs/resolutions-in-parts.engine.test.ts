/* Evidence, durability: One request can bring the results of several members' waiting calls. DynamoDB stores them in several
 * writes if needed. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  expectCode,
  header,
  headOf,
  openFixture,
  resolutionOf,
  roundAfter,
  startRun,
} from '../../../contracts/session-fixture.ts'
import type { Stores } from '../../../contracts/stores.ts'
import { withEngines } from '../../../engines/with-engines.ts'
import { dynamodbEngine } from '../engine.ts'

/** Number of calls in each of two rounds. Both rounds together exceed the limit of one write. */
const CALLS = 60

withEngines(['dynamodb'], ({ dynamodb }) => {
  describe('results for more calls than one write can store', () => {
    let stores: Stores
    /** Called instead of each write. The default sends the write. */
    let atWrite = (send: () => Promise<unknown>): Promise<unknown> => send()
    beforeAll(async () => {
      const between = <Sent>(send: () => Promise<Sent>, kind?: 'read' | 'write') =>
        kind === 'write' ? (atWrite(send) as Promise<Sent>) : send()
      stores = await dynamodbEngine(dynamodb).open({ between })
    })
    afterAll(() => stores.close())

    async function paused() {
      const fixture = await openFixture(stores)
      const { lease } = await startRun(fixture)
      const asked = Array.from({ length: CALLS }, () => ({ name: 'ask', needs: 'result' }) as const)
      const first = roundAfter(fixture, lease, lease.head, asked)
      const second = roundAfter(fixture, lease, headOf(first), asked, 1)
      for (const round of [first, second]) await fixture.log.appendRound(lease, round)
      await fixture.log.pause(lease)
      const resolutions = [first, second].flatMap(({ tools }) => tools.map((call) => resolutionOf(call.toolCallId)))
      return { ...fixture, runId: lease.runId, resolutions }
    }

    test.each([
      { dies: 'before', write: 1, left: 120 },
      { dies: 'after', write: 1, left: 40 },
      { dies: 'before', write: 2, left: 40 },
      { dies: 'after', write: 2, left: 0 },
    ])(
      'a process killed $dies write $write leaves $left waiting calls, and repeating the results resolves them',
      async (death) => {
        const { key, inbox, peer, runId, resolutions, ...fixture } = await paused()
        let writes = 0
        atWrite = async (send) => {
          const isLast = ++writes === death.write
          const sent = writes < death.write || (isLast && death.dies === 'after') ? await send() : undefined
          // All later requests fail, including retries.
          if (writes >= death.write) throw new Error('dead')
          return sent
        }
        await expectCode(inbox.resolve(key, runId, resolutions), 'storage_failed')
        atWrite = (send) => send()
        expect((await header({ ...fixture, key, inbox, peer })).waiting).toBe(death.left)
        expect(await peer.inbox.resolve(key, runId, resolutions)).toEqual({ stored: death.left, complete: true })
        expect((await header({ ...fixture, key, inbox, peer })).due).toBe(fixture.clock.now())
      },
    )

    test('a call that another client resolves between two writes causes a conflict, and the first write remains', async () => {
      const { key, inbox, peer, runId, resolutions, ...fixture } = await paused()
      const last = resolutions.at(-1)
      const other = resolutionOf(last?.toolCallId ?? '', 'another')
      let writes = 0
      atWrite = async (send) => {
        if (++writes === 2) {
          atWrite = (write) => write()
          await peer.inbox.resolve(key, runId, [other])
        }
        return send()
      }
      await expectCode(inbox.resolve(key, runId, resolutions), 'resolution_conflict')
      expect((await header({ ...fixture, key, inbox, peer })).waiting).toBe(39)
    })
  })
})
