import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { withinTime } from '../../../functions/domain/time/time-limit.ts'
import type { OpenAiMessage } from '../../../functions/log/formats/openai-format.ts'
import type { ChatRequest, OpenAiServer } from '../../model-server/openai-server.ts'
import { startOpenAiServer } from '../../model-server/openai-server.ts'
import { HANG_TIMEOUT_MS } from '../../eventually.ts'
import type { Message, SearchHit } from '../backend/client.ts'
import { onceFound, type Backend } from '../backend/backend.ts'
import type { InProcess } from '../backend/in-process.ts'
import { startInProcess, testAgent, withPolicies } from '../backend/in-process.ts'
import { expectedMessages } from '../transcripts/expected.ts'
import type { Placed } from '../transcripts/expected.ts'
import type { Conversation } from '../transcripts/recorded.ts'
import {
  callsOf,
  haveTranscripts,
  oddKinds,
  plainText,
  readConversations,
  readQueries,
  sessionOf,
  shapesBeyondTheApi,
} from '../transcripts/recorded.ts'
import { driveThroughApi, scriptOf } from '../transcripts/through-api.ts'
import { importConversation } from '../transcripts/through-log.ts'

const AT_ONCE = 6
const TENANT = 'default'

if (!haveTranscripts)
  console.warn('no recorded conversations beside the repository: the transcripts suite holds nothing')

/** Time limit for all conversations on a busy machine. Each also has its own limit. */
const WHOLE_MS = 3_600_000

/** Replays recorded conversations, by default all. Compares the model requests, the shown messages and the search hits. */
export const transcriptsOn = (backend: Backend, choose = (all: readonly Conversation[]) => all) =>
  describe.skipIf(!haveTranscripts)(`recorded conversations, on ${backend.name}`, () => {
    const conversations = haveTranscripts ? choose(readConversations()) : []
    const scripts = new Map(conversations.map((one) => [one.id, scriptOf(one)]))
    const requests = new Map<string, ChatRequest[]>()
    const placed = new Map<string, Placed & { readonly messages: readonly Message[] }>()
    let server: OpenAiServer
    let program: InProcess

    beforeAll(async () => {
      server = await startOpenAiServer((request) => {
        const seen = requests.get(request.model) ?? []
        requests.set(request.model, [...seen, request])
        return scripts.get(request.model)?.[seen.length]?.step ?? { status: 500 }
      })
      program = await startInProcess({
        backend,
        modelBaseUrl: server.baseUrl,
        agents: conversations.map(({ id }) =>
          testAgent({ name: id, model: `openai-compatible/${id}`, policies: withPolicies({ maxRounds: 1_000 }) }),
        ),
      })
    })
    afterAll(async () => {
      await program.close()
      await server.close()
    })

    test(
      'every conversation is imported, through the API if the API can represent it',
      async () => {
        const queue = conversations.entries()
        const worker = async (): Promise<void> => {
          for (const [index, conversation] of queue) {
            await withinTime(HANG_TIMEOUT_MS * backend.slower, conversation.id, () =>
              shapesBeyondTheApi(conversation).length > 0
                ? importConversation(program.ports, TENANT, conversation)
                : driveThroughApi(program.client, conversation, index % 2 === 0),
            )
            const messages = await program.client.messages(sessionOf(conversation))
            placed.set(conversation.id, { messages, rowOf: rowFinder(conversation, messages) })
          }
        }
        await Promise.all(Array.from({ length: AT_ONCE }, worker))
        expect(placed.size).toBe(conversations.length)
        printKinds(conversations)
      },
      WHOLE_MS,
    )

    test('every request to the model equals the record up to that point', () => {
      for (const conversation of conversations) {
        if (shapesBeyondTheApi(conversation).length > 0) continue
        const { id } = conversation
        const script = scripts.get(id) ?? []
        const sent = requests.get(id) ?? []
        expect(sent, `requests of ${id}`).toHaveLength(script.length)
        for (const [index, { end }] of script.entries()) {
          const expected = expectedMessages(conversation, { end, rowOf: rowOf(id), unanswered: 'cancelled' })
          expectSame(sent[index]?.messages ?? [], expected, `request ${index} of ${id}`)
        }
      }
    })

    test('every conversation is exported as Chat Completions messages that equal the record', async () => {
      for (const conversation of conversations) {
        const { id, messages } = conversation
        const unanswered = shapesBeyondTheApi(conversation).length > 0 ? 'left out' : 'cancelled'
        const expected = expectedMessages(conversation, { end: messages.length, rowOf: rowOf(id), unanswered })
        expectSame(await program.client.chat(sessionOf(conversation)), expected, id)
      }
    })

    test('every offloaded result is readable completely', async () => {
      let offloaded = 0
      for (const { id, messages } of conversations) {
        const recorded = new Set(messages.map((message) => plainText(message)))
        for (const message of placed.get(id)?.messages ?? []) {
          if (message.output?.offloaded !== true) continue
          const { text } = await program.client.send('GET', message.output.url)
          expect(recorded.has(text), `${id}: output of ${message.id}`).toBe(true)
          offloaded++
        }
      }
      expect(offloaded).toBeGreaterThan(0)
    })

    test('the known-item searches find their events', async () => {
      const table = await onceFound(backend, async () => {
        const ranks = await ranksOfQueries()
        for (const [kind, found] of ranks)
          expect(shareOf(found, isFound), `hit@10 of ${kind}`).toBeGreaterThanOrEqual(0.97)
        return ranks
      })
      const lines = [...table].toSorted(([left], [right]) => left.localeCompare(right))
      for (const [kind, found] of lines)
        console.log([kind, found.length, shareOf(found, isFirst), shareOf(found, isFound)].join('\t'))
    })

    /**
     * Searches each query about the chosen conversations. Returns, by kind of query, the ranks of the sought events; −1 for an
     * event that was not found.
     */
    async function ranksOfQueries(): Promise<Map<string, number[]>> {
      const ranks = new Map<string, number[]>()
      for (const query of readQueries()) {
        if (query.relevant_calls.some(({ conversation_id: id }) => !placed.has(id))) continue
        const relevant = new Set(
          query.relevant_calls.flatMap(({ conversation_id: id, call_index: index, tool_call_id: call }) => {
            const row = placed.get(id)?.rowOf(index, call)
            return row === undefined ? [] : [row]
          }),
        )
        expect(relevant.size, `events of ${query.id}`).toBeGreaterThan(0)
        const page = await program.client.get<{ data: SearchHit[] }>(
          `/v1/search?limit=10&q=${encodeURIComponent(query.query)}`,
        )
        const rank = page.data.findIndex((hit) => relevant.has(hit.message_id))
        for (const kind of [query.kind, 'all']) ranks.set(kind, [...(ranks.get(kind) ?? []), rank])
      }
      return ranks
    }

    const rowOf = (id: string): Placed['rowOf'] => placed.get(id)?.rowOf ?? (() => undefined)
  })

/**
 * Finds the row of a recorded call. Assistant messages are in their recorded order. The log also contains errors of runs whose
 * record ends early.
 */
function rowFinder(conversation: Conversation, messages: readonly Message[]): Placed['rowOf'] {
  const recorded = conversation.messages.flatMap((message, index) => (message.role === 'assistant' ? [index] : []))
  const completions = messages.filter(
    (message) => message.role === 'assistant' && !message.parts.some((part) => part.type === 'error'),
  )
  const idOf = new Map(recorded.map((index, place) => [index, completions[place]?.id]))
  return (index, callId) =>
    messages.find((row) => row.tool_call_id === callId && row.assistant_message_id === idOf.get(index))?.id
}

/** Compares message by message, so a report shows the differing message only. */
function expectSame(actual: readonly OpenAiMessage[], expected: readonly OpenAiMessage[], what: string): void {
  const length = Math.max(actual.length, expected.length)
  for (let index = 0; index < length; index++)
    if (JSON.stringify(actual[index]) !== JSON.stringify(expected[index]))
      expect(actual[index], `${what}, message ${index}`).toStrictEqual(expected[index])
  expect(actual.length).toBe(expected.length)
}

const isFirst = (rank: number): boolean => rank === 0
const isFound = (rank: number): boolean => rank !== -1
const shareOf = (values: readonly number[], holds: (value: number) => boolean): number =>
  Math.round((values.filter(holds).length / values.length) * 1_000) / 1_000

function printKinds(conversations: readonly Conversation[]): void {
  const counts = new Map<string, number>()
  for (const conversation of conversations)
    for (const kind of oddKinds(conversation)) counts.set(kind, (counts.get(kind) ?? 0) + 1)
  const calls = conversations.flatMap(({ messages }) => messages.flatMap(callsOf)).length
  const lines = [...counts].toSorted(([, left], [, right]) => right - left).map(([kind, count]) => `${count}\t${kind}`)
  console.log([`${conversations.length} conversations, ${calls} calls; of them:`, ...lines].join('\n'))
}
