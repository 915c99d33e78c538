import { defineTool } from '../../../../functions/tools/define-tool.ts'
import { z } from 'zod'
import { completionOf } from '../../../agent/harness.ts'
import type { Turn } from '../../../agent/harness.ts'
import type { StoredMessage } from '../../../slack-server/slack-messages.ts'
import type { SlackServer } from '../../../slack-server/slack-server.ts'

export const TS = '1600000001.000100'

/** A tool whose arguments and results must not be visible in Slack. */
export const leakyTool = defineTool({
  name: 'leaky',
  description: 'Returns a secret.',
  input: z.object({ secret: z.string() }),
  idempotent: true,
  execute: async (_, { progressed }) => {
    progressed({ progress: 1, total: 2, text: 'SECRET-PROGRESS' })
    return { text: 'SECRET-RESULT' }
  },
})

interface Named extends StoredMessage {
  readonly metadata: {
    readonly event_type: string
    readonly event_payload: { readonly run_id: string; readonly part: number }
  }
}

/** Returns the finished messages of replies, found by their metadata. */
export const repliesOf = (slack: SlackServer, channel: string, thread: string): Named[] =>
  slack
    .replies(channel, thread)
    .filter((one): one is Named => (one.metadata as Named['metadata'] | undefined)?.event_type === 'tooltrail_reply')

/** Returns the joined text of all reply messages in a thread. */
export const wholeText = (slack: SlackServer, channel: string, thread: string): string =>
  repliesOf(slack, channel, thread)
    .map(({ text }) => text)
    .join('')

/** Creates a completion that streams its first chunk at once, and the other chunks after the test calls `letGo`. */
export function streamed(pieces: readonly string[]): { readonly turn: Turn; letGo(): void } {
  const { promise, resolve } = Promise.withResolvers<void>()
  return {
    letGo: () => resolve(),
    async *turn(_request, signal) {
      const aborted = new Promise<never>((_resolve, reject) =>
        signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true }),
      )
      for (const [index, text] of pieces.entries()) {
        if (index === 1) await Promise.race([promise, aborted])
        yield { type: 'text.delta', part: 0, text }
      }
      yield { type: 'completion', completion: completionOf({ text: pieces.join('') }) }
    },
  }
}
