/* Evidence, clients: A request runs under its own agent and instructions; a steered input begins a new chat
 * message. */
/*
 * A chat that is read again can continue, even if an input was steered into its run. The AI SDK sends a decision only
 * if the last message is the assistant's.
 */
import { lastAssistantMessageIsCompleteWithApprovalResponses } from 'ai'
import type { UIMessage } from 'ai'
import { afterEach, expect, test } from 'vitest'
import { makeTool } from '../../agent/harness.ts'
import { expectJson, heldTurn, openHttpHarness } from '../harness.ts'
import type { HttpHarness } from '../harness.ts'
import { chatTransport, TestChat } from './client.ts'

let harness: HttpHarness
afterEach(() => harness.close())

const send = (content: string): Promise<unknown> => {
  const body = { content, on_busy: 'steer' }
  return expectJson(harness, 202, 'POST', '/v1/sessions/talk/messages', body, { prefer: 'respond-async' })
}
const readChat = async (): Promise<UIMessage[]> =>
  (await (await harness.send('GET', '/v1/chat/talk')).json()) as UIMessage[]
const textsOf = (messages: readonly UIMessage[]): unknown[] =>
  messages.map(({ role, parts }) => [role, ...parts.flatMap((part) => (part.type === 'text' ? [part.text] : []))])

async function expectDecision(isSteered: boolean): Promise<void> {
  const looking = Promise.withResolvers<void>()
  const ran: string[] = []
  harness = await openHttpHarness({
    tools: [
      makeTool('look', async () => {
        await looking.promise
        return { text: 'seen' }
      }),
      makeTool('remove', async () => ({ text: String(ran.push('removed')) }), { needsApproval: true }),
    ],
    script: [
      { text: 'I look.', calls: [{ id: 'c1', name: 'look' }] },
      { text: 'I remove it.', calls: [{ id: 'c2', name: 'remove' }] },
      { text: 'Gone.' },
    ],
  })
  await expectJson(harness, 201, 'POST', '/v1/sessions', { id: 'talk' })
  await send('Look, and remove it')
  await expect.poll(() => harness.requests.length).toBe(1)
  if (isSteered) await send('Be quick')
  looking.resolve()
  const status = async () =>
    (await expectJson<{ run: { status: string } }>(harness, 200, 'GET', '/v1/sessions/talk')).run.status
  await expect.poll(status).toBe('paused')

  const messages = await readChat()
  const chat = new TestChat({
    id: 'talk',
    messages,
    transport: chatTransport(harness),
    sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithApprovalResponses,
  })
  const part = messages
    .flatMap(({ parts }) => parts)
    .find((one) => 'state' in one && one.state === 'approval-requested')
  const { approval } = part as unknown as { approval: { id: string } }
  await chat.addToolApprovalResponse({ id: approval.id, approved: true })
  await expect.poll(() => ran).toEqual(['removed'])
  await expect.poll(status).toBe('completed')
  expect(new Set(chat.messages.map(({ id }) => id)).size).toBe(chat.messages.length)
  expect(chat.messages.map(({ role }) => role)).toEqual(messages.map(({ role }) => role))
  expect({ roles: messages.map(({ role }) => role), ran }).toEqual({
    roles: isSteered ? ['user', 'assistant', 'user', 'assistant'] : ['user', 'assistant'],
    ran: ['removed'],
  })
}

test.each([false])('an approval can be sent from a chat that was read again (with a steered input: %s)', expectDecision)
test.each([true])('an approval can be sent from a chat that was read again (with a steered input: %s)', expectDecision)

test.each([true, false])(
  'a page that opens during a run shows each text once (steered input: %s)',
  async (isSteered) => {
    const looking = Promise.withResolvers<void>()
    const held = heldTurn()
    harness = await openHttpHarness({
      tools: [
        makeTool('look', async () => {
          await looking.promise
          return { text: 'seen' }
        }),
      ],
      script: [{ text: 'I look.', calls: [{ id: 'c1', name: 'look' }] }, held.turn],
    })
    await expectJson(harness, 201, 'POST', '/v1/sessions', { id: 'talk' })
    await send('Look')
    await expect.poll(() => harness.requests.length).toBe(1)
    if (isSteered) await send('Be quick')
    looking.resolve()
    await expect.poll(() => harness.requests.length).toBe(2)
    const chat = new TestChat({ id: 'talk', messages: await readChat(), transport: chatTransport(harness) })
    const resumed = chat.resumeStream()
    await expect.poll(() => JSON.stringify(chat.messages)).toContain('thinking')
    held.letGo()
    await resumed
    expect(textsOf(chat.messages)).toEqual(textsOf(await readChat()))
  },
)
