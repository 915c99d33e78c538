import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { textOf } from '../../../functions/domain/messages/message.ts'
import type { Backend } from '../backend/backend.ts'
import { fc } from '../../generators/seeded.ts'
import { nativeLines } from '../../generators/native-lines.ts'
import { comparable, exportLines, parentPlaces, type ExportedMessage } from '../backend/exported.ts'
import { startInProcess, testAgent, type InProcess } from '../backend/in-process.ts'
import type { Conversation, RecordedMessage } from '../transcripts/recorded.ts'
import { haveTranscripts, readConversations, sessionOf } from '../transcripts/recorded.ts'

/** Time limit for all conversations on a busy machine. */
const WHOLE_MS = 1_800_000
interface Refusal {
  readonly errors: readonly { readonly path: string }[]
}
const LINES = { 'content-type': 'application/x-ndjson' }

/** Imports recorded conversations, exports them, and imports the export: nothing is lost on the way. */
export const roundTripsOn = (backend: Backend, choose = (all: readonly Conversation[]) => all) =>
  describe.skipIf(!haveTranscripts)(`round trips of recorded conversations, on ${backend.name}`, () => {
    const conversations = haveTranscripts ? choose(readConversations()) : []
    let program: InProcess
    beforeAll(async () => {
      const agents = [testAgent({ name: 'default', model: 'openai-compatible/any' })]
      program = await startInProcess({ backend, agents, modelBaseUrl: 'http://127.0.0.1:9' })
    })
    afterAll(() => program.close())

    const get = (path: string): Promise<Response> => fetch(program.client.url + path)
    const importLines = (session: string, format: string, text: string): Promise<{ messages: number }> =>
      program.client.post(`/v1/sessions/${session}/import?format=${format}`, text, LINES)

    /** Finds the results without an open call. The API refuses a whole import with such a result, and names the result's path. */
    async function refused(session: string, said: readonly RecordedMessage[]): Promise<RecordedMessage[]> {
      const found: RecordedMessage[] = []
      for (;;) {
        const rest = said.filter((one) => !found.includes(one))
        const body = { format: 'openai', messages: rest }
        const reply = await program.client.send<Refusal>('POST', `/v1/sessions/${session}-check/import`, body)
        if (reply.status !== 422) return found
        const [, place = ''] = /^body\.messages\[(\d+)\]\.tool_call_id$/.exec(reply.body.errors[0]?.path ?? '') ?? []
        const one = rest[Number(place)]
        if (one?.role !== 'tool') throw new Error(`unexpected refusal: ${reply.text}`)
        expect(await exportLines(get, `${session}-check`)).toEqual([])
        found.push(one)
      }
    }

    test(
      `${conversations.length} conversations are unchanged, from Chat Completions to native and back`,
      async () => {
        for (const conversation of conversations) {
          const [first, second] = [
            `a-${sessionOf(conversation)}`.slice(0, 100),
            `b-${sessionOf(conversation)}`.slice(0, 100),
          ]
          for (const id of [first, second, `${first}-check`]) await program.client.post('/v1/sessions', { id })
          const said = conversation.messages.filter(({ role }) => role !== 'system')
          const orphans = await refused(first, said)
          for (const one of orphans) said.splice(said.indexOf(one), 1)
          const { messages } = await importLines(first, 'openai', said.map((one) => JSON.stringify(one)).join('\n'))
          const imported = await exportLines(get, first)
          expect(imported).toHaveLength(messages)
          expect(textsOf(imported), conversation.id).toEqual(recordedTexts(said))
          const text = await (await get(`/v1/sessions/${first}/export`)).text()
          expect(await importLines(second, 'native', text)).toMatchObject({ messages })
          expect((await exportLines(get, second)).map(comparable), conversation.id).toEqual(imported.map(comparable))
        }
      },
      WHOLE_MS,
    )
  })

/** Round trips of generated logs, with odd texts, arguments, times and calls without results. */
export const generatedRoundTripsOn = (backend: Backend, logs: number) =>
  describe(`round trips of generated logs, on ${backend.name}`, () => {
    let program: InProcess
    beforeAll(async () => {
      const agents = [testAgent({ name: 'default', model: 'openai-compatible/any' })]
      program = await startInProcess({ backend, agents, modelBaseUrl: 'http://127.0.0.1:9' })
    })
    afterAll(() => program.close())

    test(
      `${logs} logs are unchanged, from native to native`,
      async () => {
        const get = (path: string): Promise<Response> => fetch(program.client.url + path)
        let number = 0
        await fc.assert(
          fc.asyncProperty(nativeLines, async (lines) => {
            const [first, second] = [`a-${++number}`, `b-${number}`]
            for (const id of [first, second]) await program.client.post('/v1/sessions', { id })
            const text = lines.map((line) => JSON.stringify(line)).join('\n')
            await program.client.post(`/v1/sessions/${first}/import?format=native`, text, LINES)
            const imported = await exportLines(get, first)
            expect(saidIn(imported)).toEqual(saidIn(lines))
            expect(parentPlaces(answeredIn(imported))).toEqual(parentPlaces(answeredIn(lines)))
            const exported = await (await get(`/v1/sessions/${first}/export`)).text()
            await program.client.post(`/v1/sessions/${second}/import?format=native`, exported, LINES)
            const again = await exportLines(get, second)
            expect(again.map(comparable)).toEqual(imported.map(comparable))
            expect(parentPlaces(again)).toEqual(parentPlaces(imported))
          }),
          { numRuns: logs },
        )
      },
      WHOLE_MS,
    )
  })

/** Removes the results that an import adds to calls without a result. */
const saidIn = (lines: readonly Pick<ExportedMessage, 'role' | 'status' | 'parts'>[]): unknown[] =>
  answeredIn(lines).map(({ role, parts }) => [role, parts.map(({ text }) => text ?? '').join('')])
const answeredIn = <Line extends { readonly status?: string }>(lines: readonly Line[]): Line[] =>
  lines.filter(({ status }) => status !== 'interrupted')

/** Texts, results and calls, without the results that the import created itself. */
const textsOf = (messages: readonly ExportedMessage[]): unknown[] =>
  messages
    .filter(({ status }) => status !== 'interrupted')
    .map(({ role, parts, tool_calls: calls = [] }) => [
      role,
      textOf(parts as never),
      calls.map((call) => (call as unknown as { arguments: string }).arguments),
    ])

const recordedTexts = (messages: readonly RecordedMessage[]): unknown[] =>
  messages.map(({ role, content, tool_calls: calls }) => [
    role,
    typeof content === 'string' ? content : textOf((content ?? []).filter((part) => part.type === 'text')),
    (calls ?? []).map((call) => call.function.arguments),
  ])
