/* Evidence, page: Each member's work is shown below its delegate call, even if ids repeat. */
import { expect, test } from 'vitest'
import type { Message } from '../../functions/client/api-types.ts'
import { entriesOf, holderOf } from '../../page/log/entries.ts'
import type { Entry } from '../../page/log/entries.ts'
import { runSpans } from '../../page/tools/spans.ts'

const AT = '2026-11-23T09:30:00.000Z'
const END = Date.parse('2026-11-23T10:00:00.000Z')

function message(id: string, role: Message['role'], rest: Partial<Message> = {}): Message {
  return {
    object: 'message',
    id,
    session_id: 's',
    run_id: 'r',
    agent: 'default',
    role,
    round: 0,
    created_at: AT,
    parts: [],
    ...rest,
  }
}

/** Returns the ids of the entries and of their nested entries. */
const shape = (entries: readonly Entry[]): unknown[] =>
  entries.map(({ message: { id }, calls }) => [id, ...calls.map((call) => [call.message.id, ...shape(call.members)])])

/** A log of the demo model's team: the member's own call has the same id as its delegate call. */
const TEAM = [
  message('1', 'user'),
  message('2', 'assistant'),
  message('3', 'tool', { tool_call_id: 'c1', assistant_message_id: '2', status: 'completed', completed_at: AT }),
  message('4', 'user', { parent_message_id: '3', parent_tool_call_id: 'c1' }),
  message('5', 'assistant', { parent_message_id: '3', parent_tool_call_id: 'c1' }),
  message('6', 'tool', {
    tool_call_id: 'c1',
    assistant_message_id: '5',
    parent_message_id: '3',
    parent_tool_call_id: 'c1',
    status: 'completed',
  }),
  message('7', 'assistant', { parent_message_id: '3', parent_tool_call_id: 'c1' }),
  message('8', 'assistant'),
]

test("a member's messages follow its delegate call, even if a call of the member has the same id", () => {
  const entries = entriesOf(TEAM)
  expect(shape(entries)).toEqual([['1'], ['2', ['3', ['4'], ['5', ['6']], ['7']]], ['8']])
  expect(holderOf(entries, '6')).toBe('2')
})

/** The log in its imported or forked form, in which messages name calls only by their ids. */
const IMPORTED = TEAM.map(({ parent_message_id: _row, ...rest }) => rest)

test('imported messages of a member follow its delegate call, even if the log contains them before this call', () => {
  const whole = [['1'], ['2', ['3', ['4'], ['5', ['6']], ['7']]], ['8']]
  expect(shape(entriesOf(IMPORTED))).toEqual(whole)
  const [first, second, call, ...rest] = IMPORTED
  const last = rest.pop()
  const later = [first, second, ...rest, call, last].filter((one) => one !== undefined)
  expect(shape(entriesOf(later))).toEqual(whole)
  expect(runSpans(IMPORTED, END)).toEqual(runSpans(TEAM, END))
})

test("a member's messages are entries of their own if the delegate call is not loaded", () => {
  expect(shape(entriesOf(TEAM.slice(4)))).toEqual([['5', ['6']], ['7'], ['8']])
})

test('a timeline nests members by their delegate call, and an imported call without an end has no duration', () => {
  const [run] = runSpans(TEAM, END)
  expect(run?.spans.map(({ id, depth, from, to }) => [id, depth, to - from])).toEqual([
    ['2', 0, 0],
    ['3', 0, 0],
    ['5', 1, 0],
    ['6', 1, 0],
    ['7', 1, 0],
    ['8', 0, 0],
  ])
  const [waiting] = runSpans([message('1', 'user'), message('2', 'tool', { status: 'waiting' })], END)
  expect(waiting?.to).toBe(END)
})
