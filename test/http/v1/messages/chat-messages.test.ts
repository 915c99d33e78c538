/* Evidence, replay: Images that leave the media window change the prefix once, between two runs, by a recorded
 * decision. */
/* Evidence, replay: The pages of `format=openai` contain the whole replay, for any page size. Each page reads only its own
 * rows. */
import { fc } from '../../../generators/seeded.ts'
import { describe, expect, test } from 'vitest'
import type { Message } from '../../../../functions/domain/messages/message.ts'
import type { RequestMessage } from '../../../../functions/domain/model-request.ts'
import type { Session } from '../../../../functions/domain/session.ts'
import { chatMessages } from '../../../../functions/http/v1/messages/chat-messages.ts'
import { partUrl } from '../../../../functions/http/v1/messages/resource.ts'
import { readChatCursor, writeChatCursor } from '../../../../functions/http/v1/page-cursor.ts'
import type { AppDependencies } from '../../../../functions/http/dependencies.ts'
import { toOpenAiMessages } from '../../../../functions/log/formats/openai-format.ts'
import { replayEach } from '../../../../functions/log/replay.ts'
import type { Replayed } from '../../../../functions/log/replay.ts'
import type { MessageQuery } from '../../../../functions/ports/log-reader.ts'
import { settledLog } from '../../../generators/logs.ts'
import { callTo, writeLog } from '../../../generators/messages.ts'

const session: Session = {
  tenant: 'acme',
  session: 's',
  agent: 'default',
  metadata: {},
  createdAt: 0,
  updatedAt: 0,
  instructions: 'Be brief.',
} as unknown as Session

/** Returns a log in memory that counts the rows that are read from it. */
function reading(log: readonly Message[]) {
  let count = 0
  const messages = async (_key: unknown, { after, before, order, limit, roles }: MessageQuery) => {
    const ascending = log.filter(
      ({ id, role }) =>
        (after === undefined || id > after) &&
        (before === undefined || id < before) &&
        (roles === undefined || roles.includes(role)),
    )
    const found = order === 'ascending' ? ascending : ascending.toReversed()
    count += Math.min(limit, found.length)
    return { messages: found.slice(0, limit), more: found.length > limit }
  }
  const message = async (_key: unknown, id: string) => log.find((one) => one.id === id)
  const dependencies = {
    reader: { messages, message },
    agents: new Map(),
  }
  return { dependencies: dependencies as unknown as AppDependencies, count: () => count }
}

async function pagesOf(log: readonly Message[], limit: number): Promise<unknown[]> {
  const { dependencies } = reading(log)
  const found: unknown[] = []
  for (let after: string | undefined; ;) {
    const page = await chatMessages(dependencies, session, readChatCursor(after), limit)
    found.push(...page.messages)
    if (page.next === undefined) return found
    expect(page.messages).toHaveLength(limit)
    after = writeChatCursor(page.next)
  }
}

/** Request messages of a stored message, with links to its media. */
const withLinks = ({ message: { id }, sent }: Replayed): RequestMessage[] =>
  sent.map((request) => {
    if (request.role !== 'user') return request
    const parts = request.parts.map((part) =>
      part.type === 'text' ? part : { ...part, url: partUrl(session.session, id, part.id) },
    )
    return { ...request, parts }
  })

describe('a log as Chat Completions messages', () => {
  test('has the same messages in pages of any size as in one request', async () => {
    await fc.assert(
      fc.asyncProperty(settledLog, fc.integer({ min: 1, max: 9 }), async (log, limit) => {
        const replayed = replayEach(log, { currentRun: log.at(-1)?.runId ?? '', replay: 'full' })
        const request = replayed.flatMap(withLinks)
        expect(await pagesOf(log, limit)).toEqual(toOpenAiMessages(request, 'Be brief.', { forPeople: true }))
      }),
    )
  })

  test('is read only up to the end of a page, however long the log is', async () => {
    const writer = writeLog()
    for (let run = 0; run < 1_000; run++)
      writer.run(`run-${run}`).user('hi').assistant(callTo('shell', '{}')).result(0, 'ok').assistant('done')
    const { dependencies, count } = reading(writer.log)
    const first = await chatMessages(dependencies, session, undefined, 20)
    const second = await chatMessages(dependencies, session, first.next, 20)
    expect(second.messages).toHaveLength(20)
    expect(count()).toBeLessThan(100)
  })

  test('rejects the cursor of another list', async () => {
    const { log } = writeLog().run('run-0').user('hi').assistant(callTo('shell', '{}')).result(0, 'ok')
    const { dependencies } = reading(log)
    expect(() => readChatCursor(log[0]?.id)).toThrow('not a cursor of this list')
    for (const id of [log[2]?.id ?? '', '01JD2Q8N4T6W8Y0A2C4E6G8J0K'])
      await expect(chatMessages(dependencies, session, { id, skip: 0 }, 5)).rejects.toThrow('not a cursor of this list')
  })
})
