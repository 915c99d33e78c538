import { expect, test } from 'vitest'
import type { Message, RunEvent } from '../../functions/client/api-types.ts'
import { EMPTY_LOG, withEvent } from '../../page/log/log.ts'
import type { Log } from '../../page/log/log.ts'

const at = { session_id: 's', run_id: '01J00000000000000000000000' }
const call = (id: string, tool_name: string): Pick<Message, 'id' | 'tool_name'> => ({ id, tool_name })
const [digs, fills] = [call('01J00000000000000000000002', 'dig'), call('01J00000000000000000000003', 'fill')]
const says = (
  { id, tool_name = '' }: typeof digs,
  fields: { progress: number; total?: number; text?: string },
): RunEvent => ({
  ...{ type: 'tool_call.progress', ...at, message_id: id, tool_call_id: 'c', tool_name },
  ...fields,
})
const ends = (message: typeof digs): RunEvent => ({ type: 'tool_call.completed', ...at, message: message as Message })
const after = (...events: readonly RunEvent[]): Log => events.reduce(withEvent, EMPTY_LOG)
const shown = (...events: readonly RunEvent[]): string[] => after(...events).progress.map(({ text }) => text)

test('the latest progress of each call is shown until the call ends', () => {
  const begun = [says(digs, { progress: 1, total: 4, text: 'north' }), says(fills, { progress: 0.5 })]
  expect(shown(...begun)).toEqual(['dig: 1 of 4, north', 'fill: 0.5'])
  expect(shown(...begun, says(digs, { progress: 2, total: 4 }))).toEqual(['fill: 0.5', 'dig: 2 of 4'])
  expect(shown(...begun, ends(digs))).toEqual(['fill: 0.5'])
})

test('an unknown event of a newer program is ignored', () => {
  const log = after(says(digs, { progress: 1 }))
  expect(withEvent(log, { type: 'tool_call.sung', ...at } as unknown as RunEvent)).toBe(log)
})
