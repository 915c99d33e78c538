import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { z } from 'zod'
import type { Models } from '../../../functions/ports/model.ts'
import { defineTool } from '../../../functions/tools/define-tool.ts'
import { completionOf } from '../../agent/harness.ts'
import { directMessage } from '../../slack-server/slack-events.ts'
import { startSlackServer } from '../../slack-server/slack-server.ts'
import type { Fault, SlackServer } from '../../slack-server/slack-server.ts'
import { openMortalProgram } from './mortal-program.ts'
import type { MortalProgram } from './mortal-program.ts'
import { repliesOf, wholeText } from './reply-fixture.ts'

const QUESTION = { channel: 'D1', user: 'U1', text: 'is it fine?' }
const WHOLE = 'Let me look.\n\nIt is fine.'
/** Milliseconds by which the next program is ahead: leases and claims of the one before are over. */
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

/** Says the same whenever it is asked the same, as a model that is asked again after a crash. */
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
      // Long enough for a piece of its own.
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

const sessionOf = (thread: string) => ({ tenant: 'default', session: `slack-T1-D1-${thread}` })
const isDelivered = async ({ ports }: MortalProgram, thread: string): Promise<boolean> =>
  (await ports.sessions.read(sessionOf(thread)))?.run !== undefined &&
  (await ports.outbox.pending(sessionOf(thread), 1)).length === 0

/** One reply with the whole text, and nothing of the bot beside it. */
function expectOneReply(thread: string): void {
  expect(wholeText(slack, 'D1', thread)).toBe(WHOLE)
  expect(new Set(repliesOf(slack, 'D1', thread).map(({ metadata }) => metadata.event_payload.run_id)).size).toBe(1)
  expect(slack.replies('D1', thread)).toEqual(repliesOf(slack, 'D1', thread))
  for (const { streaming_state: state } of slack.replies('D1', thread)) expect(state ?? 'completed').toBe('completed')
}

describe('a process that dies at a call to Slack leaves one reply with the whole text', () => {
  // What a reply takes: who the bot is, the status, the stream, two pieces, its end, and the status again.
  const places = Array.from({ length: 7 }, (_, index) => index + 1)
  test.each(places.flatMap((at) => [[at, 'before'] as const, [at, 'after'] as const]))(
    'at call %i, %s Slack has done it',
    async (at, when) => {
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
      const thread = slack.write(QUESTION)
      const event = directMessage({ ts: thread, text: QUESTION.text })
      void first.deliver(event)
      // A slow machine may need fewer calls: then nothing dies.
      const isReached = async (): Promise<boolean> => slack.calls.length >= at || isDelivered(first, thread)
      await expect.poll(isReached, { timeout: 20_000 }).toBe(true)
      const second = start(LATER)
      // What got no 200 is delivered again.
      await expect.poll(async () => (await second.deliver(event)).status, { timeout: 15_000 }).toBe(200)
      await expect.poll(() => isDelivered(second, thread), { timeout: 30_000 }).toBe(true)
      expectOneReply(thread)
      expect(JSON.stringify(slack.calls)).not.toContain('SECRET')
    },
    60_000,
  )
})

test('whatever Slack answers to any one call, there is one reply with the whole text', async () => {
  const program = start()
  const faults: readonly Fault[] = ['ignored', 'silent', 'busy', 'broken', { refusal: 'internal_error' }]
  const cases = faults.flatMap((fault) => Array.from({ length: 6 }, (_, at) => ({ fault, at: at + 1 })))
  const counts = new Map<string, number>()
  // Then it knows who the bot is.
  const known = slack.write(QUESTION)
  await program.deliver(directMessage({ ts: known, text: QUESTION.text }))
  await expect.poll(() => isDelivered(program, known), { timeout: 20_000 }).toBe(true)
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
  for (const ts of threads) await expect.poll(() => isDelivered(program, ts), { timeout: 120_000 }).toBe(true)
  for (const ts of threads) expectOneReply(ts)
}, 180_000)
