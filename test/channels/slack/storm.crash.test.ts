/* Evidence, deliveries: A Slack message gets one reply with the whole text, whichever process dies and whichever call fails. */
import { expect, test } from 'vitest'
import { randomNumbers } from '../../e2e/crashes/parts/random-numbers.ts'
import { localBackend } from '../../e2e/backend/local-backend.ts'
import { startProgram } from '../../e2e/backend/program.ts'
import { directMessage, sendEvent, slackSettings } from '../../slack-server/slack-events.ts'
import { startSlackServer } from '../../slack-server/slack-server.ts'
import { repliesOf, wholeText } from './outbound/reply-fixture.ts'

const PROCESSES = 4
const THREADS = 25
/** Slack limits the calls for each channel separately, so the test uses several channels. */
const CHANNELS = 5
/** Deliveries of each message. */
const DELIVERIES = 10
/** Time limit of the whole test, in milliseconds. */
const OVER_MS = 300_000
const SEED = Number(process.env['STORM_SEED'] ?? 20_261_123)

interface Thread {
  readonly channel: string
  readonly first: string
  readonly second: string
}

test(
  'repeated deliveries to four processes with random Slack failures lead to one reply each, in order',
  async () => {
    const random = randomNumbers(SEED)
    const [slack, place] = await Promise.all([startSlackServer(), localBackend.open()])
    const env = { ...place.env, ...slackSettings(slack) }
    const programs = await Promise.all(Array.from({ length: PROCESSES }, () => startProgram({ env })))
    const pick = (): string => programs[Math.floor(random() * PROCESSES)]?.client.url ?? ''

    /** Delivers an event until it is acknowledged, as Slack does. Returns the number of attempts. */
    async function deliver(event: object): Promise<number> {
      for (let attempt = 1; ; attempt++) {
        const status = await sendEvent(pick(), event, { 'x-slack-retry-num': String(attempt) })
        if (status === 200) return attempt
        expect(status).toBe(503)
      }
    }

    try {
      const threads = Array.from({ length: THREADS }, (_, number): Thread => {
        const channel = `D${1 + (number % CHANNELS)}`
        const first = slack.write({ channel, user: 'U1', text: 'hello' })
        return { channel, first, second: slack.write({ channel, user: 'U1', text: 'more', thread_ts: first }) }
      })
      slack.fault = () => {
        const draw = random()
        return draw < 0.05
          ? 'busy'
          : draw < 0.1
            ? 'broken'
            : draw < 0.15
              ? 'silent'
              : draw < 0.2
                ? 'ignored'
                : undefined
      }
      const waves = [
        threads.map(({ channel, first: ts }) => directMessage({ channel, ts, text: 'hello' })),
        threads.map(({ channel, first, second: ts }) => directMessage({ channel, ts, thread_ts: first, text: 'more' })),
      ]
      for (const events of waves)
        await Promise.all(events.flatMap((event) => Array.from({ length: DELIVERIES }, () => deliver(event))))
      for (const { channel, first } of threads) {
        const runs = (): string[] => [
          ...new Set(repliesOf(slack, channel, first).map(({ metadata }) => metadata.event_payload.run_id)),
        ]
        await expect.poll(() => runs().length, { timeout: OVER_MS, interval: 250 }).toBe(2)
        // Expects the replies in order and no other message of the bot. Retries while a message is being corrected.
        const session = `slack-T1-${channel}-${first}`
        await expect
          .poll(async () => wholeText(slack, channel, first) === (await answersOf(session)), { timeout: OVER_MS })
          .toBe(true)
        expect(runs()).toEqual(runs().toSorted())
        expect(slack.replies(channel, first)).toEqual(repliesOf(slack, channel, first))
      }
    } catch (error) {
      throw new Error(`seed ${SEED}: ${programs.map((program) => program.log()).join('\n')}`, { cause: error })
    } finally {
      await Promise.all(programs.map((program) => program.kill()))
      await Promise.all([slack.close(), place.remove()])
    }

    /** Returns the log's answers. The thread's replies must show exactly these answers. */
    async function answersOf(session: string): Promise<string> {
      const messages = (await programs[0]?.client.messages(session)) ?? []
      const texts = Map.groupBy(
        messages.filter(({ role }) => role === 'assistant'),
        ({ run_id: run }) => run,
      )
      return [...texts.values()]
        .map((rounds) => rounds.map(({ parts }) => parts.flatMap((part) => (part.type === 'text' ? part.text : []))))
        .map((rounds) => rounds.flat().join('\n\n'))
        .join('')
    }
  },
  2 * OVER_MS,
)
