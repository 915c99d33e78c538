import { expect, test } from 'vitest'
import { decide, recordDecision, unrecorded } from '../../../functions/agent/loop/decision.ts'
import type { RunState } from '../../../functions/agent/loop/run-state.ts'
import { createLeader } from '../../../functions/agent/loop/thread.ts'
import { DEFAULT_POLICIES } from '../../../functions/domain/agent.ts'
import type { Agent } from '../../../functions/domain/agent.ts'
import type { SessionContext } from '../../../functions/domain/context.ts'

const CUT = { cut: { from: 'm5', messages: 4, conversational: 2, kept: [] } } as unknown as SessionContext

test('what a request decides is recorded with its completion, and what is recorded is recorded once', async () => {
  const recorded: unknown[] = []
  const state = {
    store: { log: { recordDecision: async (_: unknown, decision: unknown) => void recorded.push(decision) } },
    held: { lease: {}, run: { id: 'r' } },
    leader: createLeader('r', { name: 'default', policies: DEFAULT_POLICIES } as Agent),
    context: { decided: {}, isRecorded: true, isWhole: true, number: 0, notices: [], recorded: Promise.resolve() },
    emit: () => undefined,
  } as unknown as RunState
  expect(unrecorded(state)).toEqual({})
  decide(state, CUT)
  expect(unrecorded(state)).toEqual({ context: CUT })
  await recordDecision(state, { context: CUT, notices: [] })
  expect([unrecorded(state), recorded]).toEqual([{}, [{ context: CUT, notices: [], number: 0 }]])
})
