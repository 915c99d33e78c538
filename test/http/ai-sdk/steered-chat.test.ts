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
import { expectJson, openHttpHarness } from '../harness.ts'
import type { HttpHarness } from '../harness.ts'
import { chatTransport, TestChat } from './client.ts'

let harness: HttpHarness
afterEach(() => harness.close())

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
  const send = (content: string) =>
    expectJson(
      harness,
      202,
      'POST',
      '/v1/sessions/talk/messages',
      { content, on_busy: 'steer' },
      { prefer: 'respond-async' },
    )
  await send('Look, and remove it')
  await expect.poll(() => harness.requests.length).toBe(1)
  if (isSteered) await send('Be quick')
  looking.resolve()
  const status = async () =>
    (await expectJson<{ run: { status: string } }>(harness, 200, 'GET', '/v1/sessions/talk')).run.status
  await expect.poll(status).toBe('paused')

  const messages = (await (await harness.send('GET', '/v1/chat/talk')).json()) as UIMessage[]
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

test.each([false])('an approval is sent from a chat that is read again (with a steered input: %s)', expectDecision)
test.each([true])('an approval is sent from a chat that is read again (with a steered input: %s)', expectDecision)
