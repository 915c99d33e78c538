import { describe, expect, it } from 'vitest'
import type { Message, ToolMessage } from '../../functions/domain/messages/message.ts'
import type { RequestMessage } from '../../functions/domain/model-request.ts'
import { CUT_OFF_NOTE, replay } from '../../functions/log/replay.ts'
import { callTo, writeLog } from '../generators/messages.ts'

const full = (log: readonly Message[], currentRun = 'run-1'): RequestMessage[] =>
  replay(log, { currentRun, replay: 'full' })
const said = (text: string): RequestMessage => ({ role: 'user', parts: [{ type: 'text', text }] })
const completed = (text: string): RequestMessage => ({ role: 'assistant', parts: [{ type: 'text', text }] })
const results = (request: readonly RequestMessage[]) =>
  request.flatMap((message) =>
    message.role === 'tool'
      ? [
          [
            message.toolCallId,
            message.isError,
            message.parts.map((part) => (part.type === 'text' ? part.text : part.id)).join(),
          ],
        ]
      : [],
  )
const failure = { type: 'error', code: 'network', text: 'socket hang up' } as const

describe('tool results (promises R1, R2)', () => {
  it('follow their round directly, in the order of the calls, whichever call ended first', () => {
    const { log } = writeLog().user('go').assistant(callTo('a', '{}'), callTo('b', '{}')).result(1, 'B').result(0, 'A')
    expect(results(full(log))).toEqual([
      ['call_a', false, 'A'],
      ['call_b', false, 'B'],
    ])
  })

  it.each([
    ['completed', false, ''],
    ['error', true, ''],
    ['interrupted', true, 'interrupted: this call may or may not have run'],
    ['cancelled', true, 'cancelled: this call did not finish'],
    ['denied', true, 'denied: the user did not allow this call'],
  ] as const)(
    'an empty result with status %s is sent with the error mark and text of this status',
    (status, isError, text) => {
      const { log } = writeLog().user('go').assistant(callTo('a', '{}')).result(0, '', { status })
      expect(results(full(log))).toEqual([['call_a', isError, text]])
    },
  )

  it('a call without a result counts as interrupted if another call of its round has a result', () => {
    const { log } = writeLog().user('go').assistant(callTo('a', '{}'), callTo('b', '{}')).result(0, 'A')
    expect(results(full(log))).toEqual([
      ['call_a', false, 'A'],
      ['call_b', true, 'interrupted: this call may or may not have run'],
    ])
  })

  it('a round without any result loses its calls and reasoning, and keeps its text', () => {
    const { log } = writeLog()
      .user('go')
      .assistant({ type: 'reasoning', text: 'hm' }, 'let me see', callTo('a', '{}'))
      .result(0, '', { status: 'running' })
    expect(full(log)).toEqual([said('go'), completed('let me see')])
  })

  it('a result belongs to the call of its own round when a later round repeats the id', () => {
    const { log } = writeLog()
      .user('go')
      .assistant(callTo('a', '1', 'same'))
      .result(0, 'first')
      .assistant(callTo('a', '2', 'same'))
      .result(0, 'second')
    expect(results(full(log)).map(([, , text]) => text)).toEqual(['first', 'second'])
  })

  it.each([
    ['no such message', { assistantMessageId: 'none' }],
    ['no such place', { sequence: 3 }],
    ['another id in its place', { toolCallId: 'other' }],
  ])('a result without its call is omitted: %s', (_, change: Partial<ToolMessage>) => {
    const { log } = writeLog().user('go').assistant('hi', callTo('a', '{}')).result(0, 'orphan', change)
    expect(full(log)).toEqual([said('go'), completed('hi')])
  })
})

describe('completions (promises L5, L6)', () => {
  it('parts keep the order in which they were produced, each with the data of its provider', () => {
    const thought = { type: 'reasoning', text: '', provider: { anthropic: { signature: 'sig' } } } as const
    const { log } = writeLog()
      .user('go')
      .assistant('one', callTo('a', '{"b" :1}'), thought, 'two', callTo('c', ''))
      .result(0, 'A')
      .result(1, '')
    const [, round] = full(log)
    expect(round?.parts).toEqual([
      { type: 'text', text: 'one' },
      { type: 'tool_call', id: 'call_a', name: 'a', arguments: '{"b" :1}' },
      thought,
      { type: 'text', text: 'two' },
      { type: 'tool_call', id: 'call_c', name: 'c', arguments: '' },
    ])
  })

  it('an empty completion is omitted, an empty result is sent', () => {
    const { log } = writeLog().user('go').assistant(callTo('a', '{}')).result(0, '').assistant().user('and?')
    expect(full(log).map((message) => message.role)).toEqual(['user', 'assistant', 'tool', 'user'])
  })

  it('the text of a failed completion is sent; its error and unfinished reasoning are not', () => {
    const { log } = writeLog()
      .user('go')
      .assistant({ type: 'reasoning', text: 'hm' }, 'half an', failure)
      .run('run-2')
      .user('again')
    expect(full(log, 'run-2')).toEqual([said('go'), completed('half an'), said('again')])
  })

  it('a completion that contains only an error is omitted', () => {
    const { log } = writeLog().user('go').assistant(failure).run('run-2').user('again')
    expect(full(log, 'run-2')).toEqual([said('go'), said('again')])
  })

  it('a run that continues after truncated text gets a note before its first completion, also in later requests', () => {
    const { log } = writeLog().user('go').assistant('half an', failure)
    const expected = [said('go'), completed('half an'), said(CUT_OFF_NOTE)]
    expect(full(log, 'run-2')).toEqual(expected)
    const later = writeLog().user('go').assistant('half an', failure).run('run-2').assistant('whole')
    expect(full(later.log, 'run-2')).toEqual([...expected, completed('whole')])
  })
})

describe('replay: conversation (promises R3)', () => {
  const conversation = (log: readonly Message[], currentRun: string): RequestMessage[] =>
    replay(log, { currentRun, replay: 'conversation' })

  it("a request has only the user's text and the final completion of earlier runs", () => {
    const { log } = writeLog()
      .user('go')
      .assistant('looking', callTo('a', '{}'))
      .result(0, 'A')
      .assistant('done')
      .run('run-2')
      .user('more')
    expect(conversation(log, 'run-2')).toEqual([said('go'), completed('done'), said('more')])
  })

  it('a request has all messages of the current run', () => {
    const { log } = writeLog().user('go').assistant('looking', callTo('a', '{}')).result(0, 'A')
    expect(conversation(log, 'run-1')).toEqual(full(log))
  })

  it('a run that continues a failed run includes its tool rounds', () => {
    const { log } = writeLog().user('go').assistant(callTo('a', '{}')).result(0, 'A').assistant(failure)
    expect(conversation(log, 'run-2')).toEqual(full(log, 'run-2'))
  })

  it("an earlier run without a completion contributes only the user's text", () => {
    const { log } = writeLog()
      .user('go')
      .assistant(callTo('a', '{}'))
      .result(0, '', { status: 'cancelled' })
      .run('run-2')
      .user('more')
    expect(conversation(log, 'run-2')).toEqual([said('go'), said('more')])
  })
})

describe('images and files', () => {
  const image = { type: 'image', id: 'object', mediaType: 'image/png', filename: 'cat.png', bytes: 9 } as const
  const note = { type: 'note', text: 'cat.png is gone' } as const

  it('are sent in their own run, without their note', () => {
    const { log } = writeLog().user('look', image, note)
    expect(full(log)).toEqual([
      {
        role: 'user',
        parts: [
          { type: 'text', text: 'look' },
          { type: 'image', id: 'object', mediaType: 'image/png', filename: 'cat.png' },
        ],
      },
    ])
  })

  it('are replaced by their note in later runs', () => {
    const { log } = writeLog().user('look', image, note).assistant('a cat').run('run-2').user('sure?')
    expect(full(log, 'run-2')[0]).toEqual({
      role: 'user',
      parts: [
        { type: 'text', text: 'look' },
        { type: 'text', text: 'cat.png is gone' },
      ],
    })
  })

  it('in a tool result without a note become a line of text in later runs', () => {
    const { log } = writeLog()
      .user('go')
      .assistant(callTo('a', '{}'))
      .result(0, '', { parts: [image] })
      .assistant('done')
      .run('run-2')
      .user('more')
    expect(results(full(log, 'run-2'))).toEqual([
      ['call_a', false, '[cat.png (image/png) is no longer available to view]'],
    ])
  })
})

it("a member's messages are never part of the leader's request (promises R4)", () => {
  const { log } = writeLog().user('go').assistant('inner').assistant('done')
  const members = log.map((message) => (message === log[1] ? { ...message, parentToolCallId: 'call_1' } : message))
  expect(full(members)).toEqual([said('go'), completed('done')])
})
