import { lastAssistantMessageIsCompleteWithApprovalResponses } from 'ai'
import type { ChatInit, UIMessage } from 'ai'
import { afterEach, expect, test } from 'vitest'
import { makeTool } from '../../agent/harness.ts'
import { expectJson, heldTurn, openHttpHarness } from '../harness.ts'
import type { HttpHarness } from '../harness.ts'
import { chatTransport, TestChat } from './client.ts'

let harness: HttpHarness
afterEach(() => harness.close())

const chat = (init: Partial<ChatInit<UIMessage>> = {}): TestChat =>
  new TestChat({ id: 'talk', transport: chatTransport(harness), ...init })
const stored = (): Promise<UIMessage[]> => expectJson<UIMessage[]>(harness, 200, 'GET', '/v1/chat/talk')

test('a denied call is shown as denied in the response, after a reload, and in a resumed stream', async () => {
  const held = heldTurn()
  harness = await openHttpHarness({
    tools: [makeTool('remove', async () => ({ text: 'removed' }), { needsApproval: true })],
    script: [{ calls: [{ id: 'c1', name: 'remove' }] }, held.turn],
  })
  const one = chat({ sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithApprovalResponses })
  await one.sendMessage({ text: 'Remove it' })
  const partOf = (message: UIMessage | undefined) => message?.parts.find(({ type }) => type === 'dynamic-tool')
  const { approval } = partOf(one.messages[1]) as { approval: { id: string } }
  await one.addToolApprovalResponse({ id: approval.id, approved: false })
  const denied = { state: 'output-denied', approval: { id: approval.id, approved: false } }
  await expect.poll(() => partOf(one.messages[1])).toMatchObject(denied)
  expect(partOf((await stored())[1])).toMatchObject(denied)
  const other = chat({ messages: one.messages.slice(0, 1) })
  const resuming = other.resumeStream()
  await expect
    .poll(() => partOf(other.messages[1]))
    .toMatchObject({ state: 'output-denied', approval: { id: approval.id } })
  held.letGo()
  await resuming
  await expect.poll(() => [one.status, other.status]).toEqual(['ready', 'ready'])
  expect(harness.requests).toHaveLength(2)
})
