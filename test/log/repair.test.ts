import { expect, it } from 'vitest'
import type { ToolMessage, ToolStatus } from '../../functions/domain/message.ts'
import { planRepair } from '../../functions/log/repair.ts'
import { callTo, writeLog } from '../generators/messages.ts'

const open = (statuses: readonly ToolStatus[]): ToolMessage[] => {
  const writer = writeLog().assistant(...statuses.map((_, index) => callTo(`tool${index}`, '{}')))
  for (const [sequence, status] of statuses.entries()) writer.result(sequence, '', { status })
  return writer.log.filter((message) => message.role === 'tool')
}
const names = (calls: readonly ToolMessage[]): string[] => calls.map((call) => call.toolName)

it('a running call is interrupted unless its tool may run again; waiting and approved calls are left alone', () => {
  const plan = planRepair(open(['running', 'running', 'waiting', 'approved']), (tool) => tool === 'tool1')
  expect(names(plan.interrupted)).toEqual(['tool0'])
  expect(names(plan.again)).toEqual(['tool1'])
  expect(names(plan.waiting)).toEqual(['tool2'])
  expect(names(plan.approved)).toEqual(['tool3'])
})

it('calls keep the order of their batch, however the rows were found', () => {
  const plan = planRepair(open(['running', 'running', 'running']).toReversed(), () => true)
  expect(names(plan.again)).toEqual(['tool0', 'tool1', 'tool2'])
})
