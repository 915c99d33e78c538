/* Evidence, durability: Results of many large calls can be stored at once on DynamoDB. */
import { expect, test } from 'vitest'
import { MAX_ROUND_CALLS } from '../../../../functions/domain/messages/message.ts'
import { callOf, headOf, openFixture, resolutionOf, roundAfter, startRun } from '../../../contracts/session-fixture.ts'
import { dynamodbClient } from '../../../engines/clients.ts'
import { withEngines } from '../../../engines/with-engines.ts'
import { tooLarge } from '../../../faults/dynamodb-faults.ts'
import { startFaultProxy } from '../../../faults/fault-proxy.ts'
import { dynamodbEngine } from '../engine.ts'

/** Bytes of the arguments and of the result of each call. All calls together exceed the limit of one atomic write. */
const LARGE = 100_000

withEngines(['dynamodb'], ({ dynamodb }) => {
  test('results of 64 large calls are stored at once, in a write that AWS accepts', async () => {
    const direct = dynamodbClient(dynamodb)
    const proxy = await startFaultProxy(dynamodb)
    proxy.decide(tooLarge(direct))
    const stores = await dynamodbEngine(dynamodb, dynamodbClient(proxy.endpoint)).open()
    const fixture = await openFixture(stores)
    const calls = Array.from({ length: MAX_ROUND_CALLS }, (_, place) => ({
      name: 'a',
      id: `call-${place}`,
      arguments: JSON.stringify('a'.repeat(LARGE)),
      needs: 'result' as const,
    }))
    const started = await startRun(fixture)
    const { assistant, tools } = roundAfter(fixture, started.lease, started.lease.head, calls)
    const round = { assistant, tools: tools.map((tool) => ({ ...tool, call: `a(${'a'.repeat(LARGE)})` })) }
    await fixture.log.appendRound(started.lease, round)
    await fixture.log.pause(started.lease)
    const results = calls.map(({ id }) => ({ ...resolutionOf(id, `${id} ${'r'.repeat(LARGE)}`), hash: id }))
    expect(await fixture.inbox.resolve(fixture.key, started.run.id, results)).toEqual({
      stored: MAX_ROUND_CALLS,
      complete: true,
    })
    const last = await fixture.reader.message(fixture.key, callOf(round, MAX_ROUND_CALLS - 1).id)
    expect(last).toMatchObject({ status: 'completed', parts: [{ text: expect.stringMatching(/^call-63 r+$/) }] })
    await stores.close()
    direct.destroy()
    await proxy.stop()
  })

  test('results of calls of several rounds are stored in several writes, each small enough for AWS', async () => {
    const direct = dynamodbClient(dynamodb)
    const proxy = await startFaultProxy(dynamodb)
    proxy.decide(tooLarge(direct))
    const stores = await dynamodbEngine(dynamodb, dynamodbClient(proxy.endpoint)).open()
    const fixture = await openFixture(stores)
    const { lease, run } = await startRun(fixture)
    const text = 'a'.repeat(140_000)
    let head = lease.head
    const results = []
    for (let round = 0; round < 3; round++) {
      const asked = Array.from({ length: 10 }, (_, place) => ({
        name: 'a',
        id: `call-${round}-${place}`,
        arguments: JSON.stringify(text),
        needs: 'result' as const,
      }))
      const { assistant, tools } = roundAfter(fixture, lease, head, asked, round)
      const stored = { assistant, tools: tools.map((tool) => ({ ...tool, call: `a(${text})` })) }
      await fixture.log.appendRound(lease, stored)
      head = headOf(stored)
      results.push(...asked.map(({ id }) => ({ ...resolutionOf(id, `of ${id}`), hash: id })))
    }
    await fixture.log.pause(lease)
    expect(await fixture.inbox.resolve(fixture.key, run.id, results)).toEqual({ stored: 30, complete: true })
    await stores.close()
    direct.destroy()
    await proxy.stop()
  })
})
