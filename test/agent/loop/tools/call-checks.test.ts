/* Evidence, limits: Runs that wait for checks of arguments keep their leases, and each sends its request to the model once. */
import { afterEach, beforeEach, expect, test } from 'vitest'
import { checkCalls } from '../../../../functions/agent/loop/tools/call-checks.ts'
import type { RunState } from '../../../../functions/agent/loop/run-state.ts'
import { checkArguments } from '../../../../functions/agent/loop/tools/strict-arguments.ts'
import type { OpenThread } from '../../../../functions/agent/loop/thread.ts'
import { DEFAULT_POLICIES } from '../../../../functions/domain/agent.ts'
import type { AssistantMessage } from '../../../../functions/domain/messages/message.ts'
import type { Run } from '../../../../functions/domain/runs/run.ts'
import { makeTool } from '../../harness.ts'

const CALL = { id: 'c', name: 'pay', arguments: '{"to": "Ada"}' }
const parameters = { type: 'object', properties: { to: { type: 'string' } } }
const thread = {
  agent: { policies: DEFAULT_POLICIES },
  messages: [],
  budget: { most: null, taken: new Map() },
  tools: new Map([['pay', makeTool('pay', async () => ({ text: 'paid' }), { needsApproval: true, parameters })]]),
} as unknown as OpenThread

let stopped: AbortController
let expected: number[]
/** Makes the time limit of the checks expire. */
let timeOut: () => void
let tenant = 0
beforeEach(() => {
  stopped = new AbortController()
  expected = []
  tenant++
  holdLine()
})
afterEach(() => timeOut())

function stateOf(): RunState {
  return {
    request: { clientTools: [] },
    held: { run: {} },
    writer: {
      key: { tenant: `t${tenant}`, session: 's' },
      signal: stopped.signal,
      startWatchdog(milliseconds: number) {
        expected.push(milliseconds)
        return () => void expected.splice(expected.indexOf(milliseconds), 1)
      },
    },
    ports: { clock: { sleep: () => new Promise<void>((resolve) => (timeOut = resolve)) } },
  } as unknown as RunState
}

/** Starts a slow check of another run. The check uses the tenant's slot, and a long rest follows the check. */
function holdLine(): void {
  const hostile = { name: 'x', parameters: { type: 'string', pattern: '^(a+)+$' } }
  const other = { run: {} as Run, tenant: `t${tenant}`, signal: new AbortController().signal }
  void checkArguments(other, hostile, `"${'a'.repeat(60)}!"`)
}

const checked = () => checkCalls(stateOf(), thread, { finishReason: 'tool-calls' } as AssistantMessage, [CALL])

test('a run that waits in the queue for checks does not count as stalled', async () => {
  const checking = checked()
  expect(expected).toEqual([10_000])
  expect(await checking).toEqual([{ needs: 'approval' }])
  expect(expected).toEqual([])
})

test('a call whose check times out in the queue waits for its approval unchecked', async () => {
  const checking = checked()
  timeOut()
  expect(await checking).toEqual([{ needs: 'approval', isUnchecked: true }])
})

test('a run that must stop does not wait in the queue for checks', async () => {
  const checking = checked()
  stopped.abort()
  expect(await checking).toEqual([{ needs: 'approval', isUnchecked: true }])
})
