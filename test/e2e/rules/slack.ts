import { describe, expect, test } from 'vitest'
import { directMessage, sendEvent, slackSettings } from '../../slack-server/slack-events.ts'
import { startSlackServer } from '../../slack-server/slack-server.ts'
import type { Backend } from '../backend/backend.ts'
import { startProgram } from '../backend/program.ts'

/**
 * Tests the running program with a Slack server that repeats its deliveries. Each message gets one reply, also after a
 * restart.
 */
export function slackOn(backend: Backend): void {
  describe(`Slack, on ${backend.name}`, () => {
    test('a message delivered three times gets one reply, and the next after a restart gets its own', async () => {
      const [slack, place] = await Promise.all([startSlackServer(), backend.open()])
      const env = { ...place.env, ...slackSettings(slack) }
      let program = await startProgram({ env })
      const deliver = (event: object): Promise<number> => sendEvent(program.client.url, event)
      const replies = (thread: string): number =>
        slack.replies('D1', thread).filter(({ metadata }) => JSON.stringify(metadata).includes('tooltrail_reply'))
          .length
      try {
        const thread = slack.write({ channel: 'D1', user: 'U1', text: 'hello' })
        const event = directMessage({ ts: thread, text: 'hello' })
        expect(await Promise.all([deliver(event), deliver(event), deliver(event)])).toEqual([200, 200, 200])
        await expect.poll(() => replies(thread)).toBe(1)
        await program.kill('SIGTERM')
        program = await startProgram({ env })
        const ts = slack.write({ channel: 'D1', user: 'U1', text: 'more', thread_ts: thread })
        expect(await deliver(event)).toBe(200)
        expect(await deliver(directMessage({ ts, thread_ts: thread, text: 'more' }))).toBe(200)
        await expect.poll(() => replies(thread)).toBe(2)
        expect(slack.replies('D1', thread)).toHaveLength(2)
      } finally {
        await program.kill()
        await Promise.all([slack.close(), place.remove()])
      }
    })
  })
}
