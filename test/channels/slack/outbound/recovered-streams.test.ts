import { expect, test } from 'vitest'
import { openReply } from '../../../../functions/channels/slack/outbound/reply.ts'
import type { Delivery } from '../../../../functions/domain/delivery.ts'
import type { Run } from '../../../../functions/domain/runs/run.ts'

/* A reply whose process was killed finds its own stream in the thread, and no stream of another reply. */

const target = { team: 'T1', channel: 'C1', thread: '1.0', ts: '1.0', user: 'U1' }
const key = { tenant: 'default', session: 's' }

const deliveryOf = (id: string, ts: string | undefined): Delivery => ({
  ...{ ...key, id, kind: 'slack', target, status: 'pending', mark: id, failures: 0, createdAt: 0 },
  state: { parts: [{ from: 0, stream: true, ...(ts === undefined ? {} : { ts }) }] },
})

/**
 * Lets the second reply find these streams in the thread, and returns the stream that it continues. The first reply has
 * recorded the stream `ofFirst`.
 */
async function streamOfSecond(ofFirst: string | undefined, streams: readonly string[]): Promise<unknown> {
  const delivery = deliveryOf('2', undefined)
  const messages = streams.map((ts) => ({ ts, user: 'UBOT', streaming_state: 'in_progress' }))
  const reply = openReply({
    api: { call: async () => ({ messages }), wait: () => 0 },
    clock: { now: () => 0, sleep: async () => undefined },
    workspace: { team: 'T1', tenant: 'default', agent: 'default', token: 'x', bot: 'UBOT' },
    target,
    outbox: { pending: async () => [deliveryOf('1', ofFirst), delivery] },
    work: { delivery, run: { id: '2' } as Run, signal: new AbortController().signal, save: async () => undefined },
  })
  await reply.recover()
  return reply.state().parts[0]?.ts
}

test.each([
  ['recorded', '2.0', ['2.0'], undefined],
  ['recorded', '2.0', ['2.0', '3.0'], '3.0'],
  ['unknown', undefined, ['2.0'], undefined],
  ['unknown', undefined, ['2.0', '3.0'], '3.0'],
] as const)(
  'the next reply after a cancelled reply whose stream is %s (%s) finds %j and continues %s',
  async (_, first, all, own) => {
    expect(await streamOfSecond(first, all)).toBe(own)
  },
)
