/* Evidence, deliveries: A Slack message gets one reply with the whole text, whichever process dies and whichever call fails. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { z } from 'zod'
import type { Models } from '../../../functions/ports/model.ts'
import { defineTool } from '../../../functions/tools/define-tool.ts'
import { completionOf } from '../../agent/harness.ts'
import { directMessage, mention } from '../../slack-server/slack-events.ts'
import { startSlackServer } from '../../slack-server/slack-server.ts'
import type { Fault, SlackServer } from '../../slack-server/slack-server.ts'
import { isWhole } from '../../whole.ts'
import { openMortalProgram } from './mortal-program.ts'
import type { MortalProgram } from './mortal-program.ts'
import { repliesOf, wholeText } from './outbound/reply-fixture.ts'

const QUESTION = { channel: 'D1', user: 'U1', text: 'is it fine?' }
const WHOLE = 'Let me look.\n\nIt is fine.'
/** Milliseconds by which the next program's clock is ahead, so that leases and claims of the previous program have expired. */
const LATER = 200_000

const slow = defineTool({
  name: 'slow',
  description: 'Takes a while.',
  input: z.object({}),
  idempotent: true,
  async execute() {
    await sleep(1_200)
    return { text: 'SECRET-RESULT' }
  },
})

/** A model that gives equal completions for equal requests, such as those repeated after a crash. */
const models: Models = {
  open: async () => ({
    name: 'script/ed',
    async *stream({ messages }) {
      const turn =
        messages.at(-1)?.role === 'user'
          ? { text: 'Let me look.', calls: [{ id: 'call_1', name: 'slow', arguments: '{}' }] }
          : { text: 'It is fine.' }
      const [first, ...rest] = turn.text.split(/(?<= )/)
      yield { type: 'text.delta', part: 0, text: first ?? '' }
      // Waits long enough for the text to become a separate chunk.
      if (turn.text !== 'Let me look.') await sleep(1_300)
      yield { type: 'text.delta', part: 0, text: rest.join('') }
      yield { type: 'completion', completion: completionOf(turn) }
    },
  }),
}

let slack: SlackServer
let folder: string
let programs: MortalProgram[]
beforeEach(async () => {
  slack = await startSlackServer()
  folder = mkdtempSync(join(tmpdir(), 'tooltrail-slack-'))
  programs = []
})
afterEach(async () => {
  await Promise.all(programs.map((program) => program.close()))
  await slack.close()
  rmSync(folder, { recursive: true, force: true })
})

function start(ahead = 0): MortalProgram {
  const program = openMortalProgram({ folder, slack, models, tools: [slow], ahead })
  programs.push(program)
  return program
}

const sessionOf = (thread: string, channel = 'D1') => ({
  tenant: 'default',
  session: `slack-T1-${channel}-${thread}`,
})
const isDelivered = async ({ ports }: MortalProgram, thread: string, channel?: string): Promise<boolean> =>
  (await ports.sessions.read(sessionOf(thread, channel)))?.run !== undefined &&
  (await ports.outbox.pending(sessionOf(thread, channel), 1)).length === 0

/** Expects one reply with the whole text, and no other message of the bot. */
function expectOneReply(thread: string, channel = 'D1'): void {
  expect(wholeText(slack, channel, thread)).toBe(WHOLE)
  expect(new Set(repliesOf(slack, channel, thread).map(({ metadata }) => metadata.event_payload.run_id)).size).toBe(1)
  expect(slack.replies(channel, thread)).toEqual(repliesOf(slack, channel, thread))
  for (const { text } of slack.replies(channel, thread)) expect(text).not.toBe('')
  for (const { streaming_state: state } of slack.replies(channel, thread))
    expect(state ?? 'completed').toBe('completed')
}

interface Asked {
  readonly channel: string
  readonly thread: string
  readonly event: object
  readonly input: readonly string[]
}

function askAlone(): Asked {
  const thread = slack.write(QUESTION)
  return {
    ...{ channel: 'D1', thread, event: directMessage({ ts: thread, text: QUESTION.text }) },
    input: [QUESTION.text],
  }
}

/** Sends a message in a thread. The earlier messages and the file must be read from Slack before the run starts. */
function askInThread(): Asked {
  slack.files.set('a.csv', { type: 'text/csv', data: Buffer.from('a,b\n') })
  const thread = slack.write({ channel: 'C1', user: 'U7', text: 'the build is red' })
  const words = { channel: 'C1', user: 'U1', text: '<@UBOT> why?', thread_ts: thread }
  const ts = slack.write(words)
  const files = [{ name: 'a.csv', mimetype: 'text/csv', url_private: slack.fileUrl('a.csv') }]
  return {
    ...{ channel: 'C1', thread, event: mention({ ...words, ts, subtype: 'file_share', files }) },
    input: ['<@U7>: the build is red', 'why?', 'a.csv', 'note'],
  }
}

/**
 * With `WHOLE=1`, a process is killed before and after each call. Otherwise, it is killed only after each odd call, such as
 * the third call, which opens the stream.
 */
const callsOf = (count: number, ask: () => Asked, name: string) =>
  Array.from({ length: count }, (_, index) => index + 1).flatMap((at) =>
    (['before', 'after'] as const)
      .filter((when) => isWhole || (at % 2 === 1 && when === 'after'))
      .map((when) => ({ name, ask, at, when })),
  )

describe('a process that dies at a call to Slack leaves one reply with the whole text', () => {
  test.each([
    // Calls of a reply: the bot's identity, the status, the stream, two chunks, the stream's end, and the status again.
    ...callsOf(7, askAlone, 'a direct message'),
    // Calls for the bot's identity, the thread and the file in any order, and the status.
    ...callsOf(4, askInThread, 'a mention with a file in a thread'),
  ])(
    '$name, at call $at, $when Slack has executed it',
    async ({ ask, at, when }) => {
      const first = start()
      const kill = (count: number): void => {
        if (count === at) first.die()
      }
      slack.fault = (_call, count) => {
        if (when === 'before') kill(count)
        return when === 'before' && count === at ? 'ignored' : undefined
      }
      slack.after = (_call, count) => {
        if (when === 'after') kill(count)
        return count === at && when === 'after' ? new Promise<void>(() => undefined) : undefined
      }
      const { channel, thread, event, input } = ask()
      void first.deliver(event)
      // A slow machine may make fewer calls. In that case, the program is not killed.
      const isReached = async (): Promise<boolean> => slack.calls.length >= at || isDelivered(first, thread, channel)
      await expect.poll(isReached).toBe(true)
      const second = start(LATER)
      // Slack redelivers an event until it gets a 200.
      await expect.poll(async () => (await second.deliver(event)).status).toBe(200)
      await expect.poll(() => isDelivered(second, thread, channel)).toBe(true)
      expectOneReply(thread, channel)
      const query = { order: 'ascending', roles: ['user'], limit: 2 } as const
      const inputs = (await second.ports.reader.messages(sessionOf(thread, channel), query)).messages
      const shown = inputs.map(({ parts }) =>
        parts.map((part) => (part.type === 'text' ? part.text : 'filename' in part ? part.filename : part.type)),
      )
      expect(shown).toEqual([input])
      expect(JSON.stringify(slack.calls)).not.toContain('SECRET')
    },
    60_000,
  )
})

test.each(['chat.startStream', 'chat.postMessage'])(
  'a program that is stopped while Slack is slow with %s leaves one reply',
  async (method) => {
    const { promise, resolve } = Promise.withResolvers<undefined>()
    let isFirst = true
    slack.fault = (call) => {
      // If a stream is refused, its text is posted as one message.
      if (method === 'chat.postMessage' && call.method === 'chat.startStream') return { refusal: 'not_allowed' }
      if (call.method !== method || !isFirst) return undefined
      isFirst = false
      return promise
    }
    const { thread, event } = askAlone()
    const first = start()
    await first.deliver(event)
    await expect.poll(() => slack.calls.some((call) => call.method === method)).toBe(true)
    programs.splice(programs.indexOf(first), 1)
    await first.close()
    const second = start()
    await sleep(1_500)
    resolve(undefined)
    await expect.poll(() => isDelivered(second, thread)).toBe(true)
    expectOneReply(thread)
  },
  60_000,
)

test('there is one complete reply, whatever Slack answers to any single call', async () => {
  const program = start()
  const faults: readonly Fault[] = ['ignored', 'silent', 'busy', 'broken', { refusal: 'internal_error' }]
  const cases = faults.flatMap((fault) => Array.from({ length: 6 }, (_, at) => ({ fault, at: at + 1 })))
  const counts = new Map<string, number>()
  // After this reply, the program knows the bot's identity.
  const known = slack.write(QUESTION)
  await program.deliver(directMessage({ ts: known, text: QUESTION.text }))
  await expect.poll(() => isDelivered(program, known)).toBe(true)
  const threads = cases.map(() => slack.write(QUESTION))
  slack.fault = ({ args }) => {
    const message = slack.state.messages.find(({ ts }) => ts === args['ts'])
    const thread = String(args['thread_ts'] ?? message?.thread_ts ?? args['ts'])
    const count = (counts.get(thread) ?? 0) + 1
    counts.set(thread, count)
    const one = cases[threads.indexOf(thread)]
    return one?.at === count ? one.fault : undefined
  }
  await Promise.all(threads.map((ts) => program.deliver(directMessage({ ts, text: QUESTION.text }))))
  for (const ts of threads) await expect.poll(() => isDelivered(program, ts)).toBe(true)
  for (const ts of threads) expectOneReply(ts)
})
