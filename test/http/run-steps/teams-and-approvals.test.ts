/* Evidence, clients: In each format, members' work and waiting approvals are shown as the format's table describes. */
import { readUIMessageStream } from 'ai'
import type { UIMessage } from 'ai'
import { afterEach, describe, expect, test } from 'vitest'
import { makeTool } from '../../agent/harness.ts'
import { expectJson, openHttpHarness } from '../harness.ts'
import type { HttpHarness } from '../harness.ts'
import { logOf, openAiClient, SHOW_CALLS } from '../openai/openai-client.ts'
import { chatTransport } from '../ai-sdk/client.ts'

let harness: HttpHarness
afterEach(() => harness.close())

const messages = [{ role: 'user' as const, content: 'Go' }]
const inTalk = { headers: { 'x-session-id': 'talk' } }

/** Opens a program with a leader whose member uses a tool. */
const openTeam = async (): Promise<void> => {
  const delegation = { name: 'delegate_task_to_member', arguments: '{"member":"other","task":"look"}' }
  harness = await openHttpHarness({
    agents: [{ name: 'default', members: ['other'] }],
    tools: [makeTool('peek', async () => ({ text: 'a zebra' }))],
    script: [
      { text: 'I ask.', calls: [{ id: 'd', ...delegation }] },
      { text: 'I peek.', calls: [{ id: 'p', name: 'peek' }] },
      { text: 'A zebra.' },
      { text: 'Done.' },
    ],
  })
}

describe("the work of a team's members", () => {
  test.each([true, false])(
    'is not shown over Chat Completions, but stored in the log; streamed: %s',
    async (isStreamed) => {
      await openTeam()
      const client = openAiClient(harness)
      const request = { model: 'default', messages }
      const completion = isStreamed
        ? await client.chat.completions.stream(request, inTalk).finalChatCompletion()
        : await client.chat.completions.create(request, inTalk)
      const { message, finish_reason: reason } = completion.choices[0] ?? {}
      expect([message?.content, message?.tool_calls, reason]).toEqual(['I ask.\n\nDone.', undefined, 'stop'])
      expect((await logOf(harness, 'talk')).filter(({ agent }) => agent === 'other')).toHaveLength(4)
    },
  )

  test('is shown over Responses as a delegate call with its result, if calls are shown', async () => {
    await openTeam()
    const client = openAiClient(harness)
    const streamed = await client.responses.stream({ model: 'default', input: 'Go' }, SHOW_CALLS).finalResponse()
    expect(streamed.output).toMatchObject([
      { type: 'message' },
      { type: 'function_call', name: 'delegate_task_to_member', status: 'completed' },
      { type: 'function_call_output', output: 'A zebra.' },
      { type: 'message' },
    ])
    expect(streamed.output_text).toBe('I ask.Done.')
    const { output } = await client.responses.retrieve(streamed.id)
    expect(streamed.output).toMatchObject(output)
  })

  test('is shown over useChat as one data part for each message and call', async () => {
    await openTeam()
    const user: UIMessage = { id: 'm1', role: 'user', parts: [{ type: 'text', text: 'Go' }] }
    const stream = await chatTransport(harness).sendMessages({
      ...{ chatId: 'talk', messages: [user], trigger: 'submit-message' },
      ...{ messageId: undefined, abortSignal: undefined },
    })
    let last: UIMessage | undefined
    for await (const message of readUIMessageStream({ stream })) last = message
    const parts = (one: UIMessage | undefined) => one?.parts.filter(({ type }) => type === 'data-member')
    expect(parts(last)).toMatchObject([
      { data: { agent: 'other', parent_tool_call_id: 'd', text: 'I peek.' } },
      { data: { agent: 'other', call: 'peek()', status: 'completed' } },
      { data: { agent: 'other', text: 'A zebra.' } },
    ])
    const [, stored] = await expectJson<UIMessage[]>(harness, 200, 'GET', '/v1/chat/talk')
    expect(parts(stored)).toEqual(parts(last))
  })
})

describe('a call that waits for an approval', () => {
  test.each([true, false])(
    'is named at the end of the text over Chat Completions; streamed: %s',
    async (isStreamed) => {
      harness = await openHttpHarness({
        tools: [makeTool('pay', async () => ({ text: 'paid' }), { needsApproval: true })],
        script: [
          { text: 'I pay.', calls: [{ id: 'p1', name: 'pay', arguments: '{"euros":5}' }] },
          { text: 'Paid.' },
          { text: 'Welcome.' },
        ],
      })
      const client = openAiClient(harness)
      const say = async (content: typeof messages): Promise<string | null | undefined> => {
        const request = { model: 'default', messages: content }
        const completion = isStreamed
          ? await client.chat.completions.stream(request, inTalk).finalChatCompletion()
          : await client.chat.completions.create(request, inTalk)
        expect(completion.choices[0]?.finish_reason).toBe('stop')
        return completion.choices[0]?.message.content
      }
      expect(await say(messages)).toBe('I pay.\n\n[waiting for approval: pay(euros=5)]')
      const { run } = await expectJson<{ run: { id: string } }>(harness, 200, 'GET', '/v1/sessions/talk')
      const decision = { results: [{ tool_call_id: 'p1', approve: true }] }
      await expectJson(harness, 200, 'POST', `/v1/sessions/talk/runs/${run.id}/tool-results`, decision)
      expect(await say([...messages, { role: 'user', content: 'Thanks' }])).toBe('Welcome.')
    },
  )
})
