import { expect, test } from 'vitest'
import { createEventSequence } from '../../../../functions/agent/loop/writer/event-sequence.ts'
import { createResultWriter } from '../../../../functions/agent/loop/writer/result-writer.ts'
import { LeaseLost } from '../../../../functions/domain/errors.ts'
import type { RunEvent } from '../../../../functions/domain/events.ts'
import type { ToolMessage } from '../../../../functions/domain/messages/message.ts'
import type { Lease } from '../../../../functions/domain/session.ts'
import type { OutputStore } from '../../../../functions/ports/output-store.ts'
import type { RunLog } from '../../../../functions/ports/run-log.ts'

const ROW = { id: 'm1', runId: 'r' } as ToolMessage
const RESULT = {
  row: ROW,
  status: 'completed',
  content: {
    parts: [],
    output: undefined,
    objects: [{ name: 'o', bytes: new Uint8Array(1), mediaType: 'text/plain' }],
  },
  completedAt: 1,
  durationMs: 1,
} as unknown as Parameters<ReturnType<typeof createResultWriter>['write']>[0]

/** Creates a writer of results over a store that records its steps. Each step takes one tick of the event loop. */
function writing(completeCall?: RunLog['completeCall']) {
  const done: string[] = []
  const turn = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve))
  const log = {
    completeCall:
      completeCall ??
      (async () => {
        await turn()
        done.push('row')
        return ROW
      }),
  } as unknown as RunLog
  const outputs = {
    put: async () => {
      await turn()
      done.push('object')
    },
  } as unknown as OutputStore
  const emit = ({ type }: RunEvent): void => void done.push(type)
  return { done, writer: createResultWriter({ log, outputs }, {} as Lease, createEventSequence(1, emit)) }
}

test('a result is stored after its object, and its event is emitted afterwards', async () => {
  const { done, writer } = writing()
  writer.write(RESULT)
  await writer.settled()
  expect(done).toEqual(['object', 'row', 'tool_call.completed'])
})

test('a result that cannot be stored stops the work, and no later write is stored', async () => {
  const lost = new LeaseLost('s', 1)
  const { done, writer } = writing(() => Promise.reject(lost))
  writer.write(RESULT)
  await expect(writer.settled()).rejects.toBe(lost)
  expect([writer.signal.reason, done]).toEqual([lost, ['object']])
  await expect(writer.settled()).rejects.toBe(lost)
})
