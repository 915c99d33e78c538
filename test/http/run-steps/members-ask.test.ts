import type { HttpAgent, RunAgentParameters } from '@ag-ui/client'
import { lastAssistantMessageIsCompleteWithApprovalResponses, lastAssistantMessageIsCompleteWithToolCalls } from 'ai'
import type { ChatInit, UIMessage } from 'ai'
import { afterEach, describe, expect, test } from 'vitest'
import { makeTool } from '../../agent/harness.ts'
import { expectJson, openHttpHarness } from '../harness.ts'
import type { HttpHarness } from '../harness.ts'
import { agUiAgent, pendingCalls } from '../ag-ui/client.ts'
import { chatTransport, TestChat } from '../ai-sdk/client.ts'

let harness: HttpHarness
afterEach(() => harness.close())

const weather = { name: 'weather', description: '', parameters: { type: 'object' } }
const pay = makeTool('pay', async () => ({ text: 'paid' }), { needsApproval: true })
const PAY = { name: 'pay', arguments: '{"euros":5}' }

/** Opens a program with a leader that calls a client tool. Its member also calls a client tool, and then waits for an approval. */
const openTeam = async (): Promise<void> => {
  const delegation = { name: 'delegate_task_to_member', arguments: '{"member":"other","task":"look"}' }
  harness = await openHttpHarness({
    agents: [{ name: 'default', members: ['other'] }],
    tools: [pay],
    script: [
      {
        text: 'I ask.',
        calls: [
          { id: 'd', ...delegation },
          { id: 'w', ...weather },
        ],
      },
      { text: 'I look.', calls: [{ id: 'w', ...weather }] },
      { text: 'I pay.', calls: [{ id: 'p', ...PAY }] },
      { text: 'Paid.' },
      { text: 'Done.' },
    ],
  })
}

/** Opens a program whose agent calls two tools at once: a server tool that needs approval, and a client tool. */
const openMixed = async (): Promise<void> => {
  const calls = [
    { id: 'p', ...PAY },
    { id: 'w', ...weather },
  ]
  harness = await openHttpHarness({ tools: [pay], script: [{ calls }, { text: 'Done.' }] })
}

/** The parts of a message, without the order in which members and tools ended. */
const partsOf = (message: UIMessage | undefined) =>
  message?.parts
    .map((part) => {
      if (part.type === 'dynamic-tool')
        return [part.toolName, part.toolCallId, part.state, part.input, part.output, part.providerExecuted === true]
      return part.type === 'text' ? part.text : [part.type, 'data' in part ? part.data : '']
    })
    .map((part) => JSON.stringify(part))
    .toSorted()

const MAX_SENT = 9

describe('useChat with automatic sending', () => {
  /** Opens a chat, and counts the requests that it sends automatically. After too many of them, the chat sends no more. */
  function chat(init: Partial<ChatInit<UIMessage>> = {}) {
    const sent: number[] = []
    const one = new TestChat({
      id: 'talk',
      transport: chatTransport(harness, { tools: [weather] }),
      sendAutomaticallyWhen: (now) => {
        const isDone =
          lastAssistantMessageIsCompleteWithToolCalls(now) || lastAssistantMessageIsCompleteWithApprovalResponses(now)
        return isDone && sent.push(1) < MAX_SENT
      },
      ...init,
    })
    return { one, sent, isAtRest: () => one.status === 'ready' || one.status === 'error' }
  }
  const find = (one: TestChat, state: string) => {
    const found = one.lastMessage?.parts.find((part) => part.type === 'dynamic-tool' && part.state === state)
    return found as Extract<UIMessage['parts'][number], { type: 'dynamic-tool' }> | undefined
  }
  const answer = (one: TestChat, toolCallId: string) =>
    one.addToolOutput({ tool: 'weather' as never, toolCallId, output: 'rain' as never })
  const decide = (one: TestChat, approved: boolean) =>
    one.addToolApprovalResponse({ id: find(one, 'approval-requested')?.approval?.id ?? '', approved })
  const stored = () => expectJson<UIMessage[]>(harness, 200, 'GET', '/v1/chat/talk')

  test.each([true, false])('answers a member, and decides on its call: %s', async (approved) => {
    await openTeam()
    const called: string[] = []
    const { one, sent, isAtRest } = chat({
      onToolCall: ({ toolCall }) => {
        called.push(toolCall.toolName)
        void answer(one, toolCall.toolCallId)
      },
    })
    await one.sendMessage({ text: 'Go' })
    await expect.poll(() => isAtRest() && find(one, 'approval-requested')).toBeTruthy()
    expect([called, sent]).toEqual([['weather', 'weather'], [1]])
    expect(partsOf((await stored())[1])).toEqual(partsOf(one.lastMessage))
    await decide(one, approved)
    await expect.poll(() => isAtRest() && JSON.stringify(one.lastMessage).includes('Done.')).toBe(true)
    expect([called.length, sent, one.messages.length]).toEqual([2, [1, 1], 2])
    expect(find(one, approved ? 'output-available' : 'output-denied')).toBeDefined()
    // For a denied call, a chat that is read again shows whether the server executes the tool. A stream cannot show this.
    const shown = (message: UIMessage | undefined) =>
      partsOf(message)?.map((part) => part.replace(/("output-denied".*),(?:true|false)]$/, '$1]'))
    expect(shown((await stored())[1])).toEqual(shown(one.lastMessage))
    expect(partsOf(one.lastMessage)?.filter((part) => part.includes('waiting for an answer'))).toEqual([])
  })

  test('also answers after the page was reloaded', async () => {
    await openTeam()
    await chat().one.sendMessage({ text: 'Go' })
    const { one, sent, isAtRest } = chat({ messages: await stored() })
    const calls = one.lastMessage?.parts.filter((part) => part.type === 'dynamic-tool') ?? []
    for (const { state, toolCallId } of calls) if (state === 'input-available') await answer(one, toolCallId)
    await expect.poll(() => isAtRest() && find(one, 'approval-requested')).toBeTruthy()
    const again = chat({ messages: await stored() })
    await decide(again.one, true)
    await expect.poll(() => JSON.stringify(again.one.lastMessage)).toContain('Done.')
    expect([sent, again.sent]).toEqual([[1], [1]])
  })

  test.each(['output first', 'decision first'])('sends an output and a decision together: %s', async (order) => {
    await openMixed()
    const { one, sent, isAtRest } = chat()
    await one.sendMessage({ text: 'Go' })
    const steps = [() => answer(one, 'w'), () => decide(one, true)]
    for (const step of order === 'output first' ? steps : steps.toReversed()) await step()
    await expect.poll(() => isAtRest() && JSON.stringify(one.lastMessage).includes('Done.')).toBe(true)
    expect(sent).toEqual([1])
    expect(partsOf((await stored())[1])).toEqual(partsOf(one.lastMessage))
  })

  test('gets an error if the session has continued without its answer', async () => {
    harness = await openHttpHarness({ script: [{ calls: [{ id: 'w', ...weather }] }, { text: 'Instead.' }] })
    const { one, sent } = chat()
    await one.sendMessage({ text: 'Go' })
    await expectJson(harness, 200, 'POST', '/v1/sessions/talk/messages', { content: 'Never mind' })
    await answer(one, 'w')
    await expect.poll(() => one.status).toBe('error')
    expect([one.error?.message.includes('unknown_tool_calls'), sent]).toEqual([true, [1]])
  })
})

describe('AG-UI', () => {
  const agent = (): HttpAgent => agUiAgent(harness, [{ id: 'm1', role: 'user', content: 'Go' }])
  interface Outcome {
    readonly type: string
    readonly interrupts?: readonly { readonly id: string }[]
  }
  async function run(one: HttpAgent, parameters: RunAgentParameters = {}): Promise<Outcome> {
    let outcome: unknown
    const onRunFinishedEvent = ({ event }: { event: object }): void => void (outcome = event)
    await one.runAgent({ tools: [weather], ...parameters }, { onRunFinishedEvent })
    return (outcome as { outcome: Outcome }).outcome
  }
  const answer = (one: HttpAgent): void => {
    for (const toolCallId of pendingCalls(one, 'weather'))
      one.addMessage({ id: crypto.randomUUID(), role: 'tool', toolCallId, content: 'rain' })
  }
  const decisions = ({ interrupts = [] }: Outcome): RunAgentParameters => ({
    resume: interrupts.map(({ id }) => ({ interruptId: id, status: 'resolved', payload: { approved: true } })),
  })
  /** Checks that each call and each result occurs once. */
  const callsAndResults = ({ messages }: HttpAgent) => {
    const calls = messages.flatMap((one) => (one.role === 'assistant' ? (one.toolCalls ?? []).map(({ id }) => id) : []))
    const results = messages.flatMap((one) => (one.role === 'tool' ? [one.toolCallId] : []))
    return [calls.toSorted(), results.toSorted()]
  }

  test("emits a member's calls and the end of the delegation once each", async () => {
    await openTeam()
    const one = agent()
    expect(await run(one)).toEqual({ type: 'success' })
    expect(pendingCalls(one, 'weather')).toHaveLength(2)
    answer(one)
    const waits = await run(one)
    expect([waits.type, waits.interrupts?.length]).toEqual(['interrupt', 1])
    expect(await run(one, decisions(waits))).toEqual({ type: 'success' })
    const [calls, results] = callsAndResults(one)
    expect(results).toEqual(calls)
    const texts = one.messages.flatMap(({ role, content }) => (role === 'assistant' ? [content ?? ''] : []))
    expect(texts.filter((text) => text !== '')).toEqual(['I ask.', 'I look.', 'I pay.', 'Paid.', 'Done.'])
  })

  test('emits the result of an approved call if the approval arrived before the last output', async () => {
    await openMixed()
    const one = agent()
    await run(one, decisions(await run(one)))
    answer(one)
    expect(await run(one)).toEqual({ type: 'success' })
    const [calls, results] = callsAndResults(one)
    expect([results, calls?.length]).toEqual([calls, 2])
  })

  test('rejects an unknown agent', async () => {
    harness = await openHttpHarness()
    const input = { threadId: 'talk', runId: 'r1', messages: [{ id: 'm1', role: 'user', content: 'Go' }], tools: [] }
    const problem = await expectJson(harness, 404, 'POST', '/v1/ag-ui/nobody', input)
    expect(problem).toMatchObject({ type: 'urn:tooltrail:problem:agent_not_found' })
  })
})
