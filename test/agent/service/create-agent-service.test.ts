import { expect, test } from 'vitest'
import { createAgentService } from '../../../functions/agent/service/create-agent-service.ts'
import type { AgentServiceDependencies } from '../../../functions/agent/service/create-agent-service.ts'
import { prepareResolutions } from '../../../functions/agent/service/resolutions.ts'
import type { CallResolution } from '../../../functions/agent/service/agent-service.ts'
import { DEFAULT_POLICIES } from '../../../functions/domain/agent.ts'
import type { Agent } from '../../../functions/domain/agent.ts'
import type { ToolMessage } from '../../../functions/domain/messages/message.ts'
import type { Session, SessionHeader } from '../../../functions/domain/session.ts'
import type { Run } from '../../../functions/domain/runs/run.ts'
import type { LogReader } from '../../../functions/ports/log-reader.ts'

const RUN = { id: 'r', status: 'paused' } as Run

const SESSION = { tenant: 't', session: 's', agent: 'a' } as Session
const AGENT = { name: 'a', policies: DEFAULT_POLICIES } as Agent
const ELSEWHERE = { here: false }
const IDEMPOTENCY = { keyHash: 'key', bodyHash: 'body' }

const rowOf = (id: string, more: Partial<ToolMessage>): ToolMessage =>
  ({ id, role: 'tool', agent: 'a', toolCallId: 'call_0', call: 'pay()', status: 'waiting', ...more }) as ToolMessage

interface Found {
  readonly header?: Partial<SessionHeader>
  readonly queued?: readonly string[]
  readonly isComplete?: boolean
  readonly isRemoved?: boolean
}

/** Creates the service over ports that record their calls. */
function recording({ header, queued = [], isComplete = false, isRemoved = false }: Found) {
  const asked: string[] = []
  const clock = { now: () => 0 }
  const service = createAgentService({
    agents: new Map([['a', AGENT]]),
    clock,
    inbox: {
      join: async (_: unknown, runId: string, { keyHash }: typeof IDEMPOTENCY) => {
        asked.push(`join ${runId} ${keyHash}`)
        return { runId: 'first', repeated: true }
      },
      resolve: async () => ({ stored: 1, complete: isComplete }),
    },
    lease: { readHeader: async () => ({ paused: false, waiting: 0, ...header }) },
    reader: {
      queued: async () => queued.map((id) => ({ id })),
      run: async () => RUN,
      messages: async () => ({ messages: [rowOf('m', { needs: 'approval' })], more: false }),
    },
    queue: { send: async () => void asked.push('hint') },
    deletion: {
      tombstone: async () => true,
      removeRows: async () => ({ more: false }),
      markRemoved: async () => undefined,
      finish: async () => undefined,
      state: async () => ({ removed: isRemoved }),
    },
    outputs: { removeAll: async () => 0 },
    index: { search: async () => ({ hits: [] }) },
  } as unknown as AgentServiceDependencies)
  return { asked, service }
}

test.each<[string, Found]>([
  ['that is active', { header: { activeRun: 'r' } }],
  ['that is queued', { queued: ['r'] }],
])('`continue` joins a run %s, and sends a hint to the workers', async (_, found) => {
  const { asked, service } = recording(found)
  expect(await service.continue(SESSION, {}, ELSEWHERE)).toEqual({ runId: 'r', repeated: false })
  expect(asked).toEqual(['hint'])
})

test('a repeated `continue` that joined a run returns the first response for its idempotency key', async () => {
  const { asked, service } = recording({ header: { activeRun: 'r' } })
  const given = await service.continue(SESSION, { idempotency: IDEMPOTENCY }, ELSEWHERE)
  expect(given).toEqual({ runId: 'first', repeated: true })
  expect(asked).toEqual(['join r key', 'hint'])
})

test('a resolution sends a hint once no call is waiting', async () => {
  for (const isComplete of [false, true]) {
    const { asked, service } = recording({ isComplete })
    await service.resolve(SESSION, 'r', [{ toolCallId: 'call_0', approve: true }], ELSEWHERE)
    expect(asked).toEqual(isComplete ? ['hint'] : [])
  }
})

test('a deletion that exceeds its time continues in the background', async () => {
  for (const isRemoved of [false, true]) {
    const { asked, service } = recording({ isRemoved })
    await service.deleteSession(SESSION)
    expect(asked).toEqual(isRemoved ? [] : ['hint'])
  }
})

const prepared = async (rows: readonly ToolMessage[], resolution: CallResolution) => {
  const reader = {
    run: async () => RUN,
    messages: async () => ({ messages: rows, more: false }),
  } as unknown as LogReader
  const ports = { reader, clock: { now: () => 0, sleep: async () => undefined }, outputs: {} as never }
  const [one] = await prepareResolutions(ports, SESSION, 'r', [resolution], () => DEFAULT_POLICIES)
  return one
}

test('a denial is not mistaken for a repetition of an approval', async () => {
  const rows = [rowOf('m', { needs: 'approval' })]
  const [yes, no, again] = await Promise.all(
    [true, false, true].map((approve) => prepared(rows, { toolCallId: 'call_0', approve })),
  )
  expect(yes?.hash).toBe(again?.hash)
  expect(yes?.hash).not.toBe(no?.hash)
})

test('a result for a repeated call id goes to the waiting call, never to an executed one', async () => {
  const executed = rowOf('m1', { status: 'completed' })
  const result = { toolCallId: 'call_0', output: [{ type: 'text', text: '42' }] } as const
  expect(await prepared([executed, rowOf('m2', { needs: 'result' })], result)).toMatchObject({ messageId: 'm2' })
  const refusal = { code: 'resolution_conflict', message: expect.stringContaining('executed here') }
  await expect(prepared([executed], result)).rejects.toMatchObject(refusal)
})

test('a decision for a repeated call id requires and uses the message id', async () => {
  const rows = ['m1', 'm2'].map((id) => rowOf(id, { needs: 'approval' }))
  for (const { id } of rows)
    expect(await prepared(rows, { toolCallId: 'call_0', messageId: id, approve: true })).toMatchObject({
      messageId: id,
    })
  await expect(prepared(rows, { toolCallId: 'call_0', approve: true })).rejects.toMatchObject({
    code: 'ambiguous_call',
  })
})
