/* Evidence, clients: `useChat` regenerates answers and edits messages; the chat then shows only what is current. */
import type { ChatInit, UIMessage } from 'ai'
import { afterEach, describe, expect, test } from 'vitest'
import { PNG } from '../../fixtures/png.ts'
import { expectJson, heldTurn, openHttpHarness } from '../harness.ts'
import type { HttpHarness } from '../harness.ts'
import { chatTransport, TestChat } from './client.ts'

let harness: HttpHarness
afterEach(() => harness.close())

const open = async (options: Parameters<typeof openHttpHarness>[0] = {}): Promise<void> => {
  harness = await openHttpHarness(options)
}
const ANSWERS = ['A1', 'A2', 'A3', 'A4', 'A5', 'A6'].map((text) => ({ text }))

const chat = (init: Partial<ChatInit<UIMessage>> = {}): TestChat =>
  new TestChat({
    id: 'talk',
    transport: chatTransport(harness),
    onError: (error) => {
      throw error
    },
    ...init,
  })

const textOf = ({ parts }: UIMessage): string => parts.map((part) => (part.type === 'text' ? part.text : '')).join('')
const said = ({ messages }: { readonly messages: readonly UIMessage[] }): string[] => messages.map(textOf)
const stored = async (): Promise<UIMessage[]> => expectJson(harness, 200, 'GET', '/v1/chat/talk')
const shown = async (): Promise<string[]> => (await stored()).map(textOf)
const runs = async (): Promise<readonly unknown[]> =>
  (await expectJson<{ data: unknown[] }>(harness, 200, 'GET', '/v1/sessions/talk/runs')).data

describe('regenerate', () => {
  test('replaces the newest run, and the page and the stored chat agree', async () => {
    await open({ script: ANSWERS })
    const page = chat()
    await page.sendMessage({ text: 'one' })
    await page.sendMessage({ text: 'two' })
    await page.regenerate()
    expect(said(page)).toEqual(['one', 'A1', 'two', 'A3'])
    expect(await shown()).toEqual(['one', 'A1', 'two', 'A3'])
    expect((await stored()).at(-1)?.id).toBe(page.messages.at(-1)?.id)
    await page.regenerate()
    await page.sendMessage({ text: 'three' })
    expect(await shown()).toEqual(['one', 'A1', 'two', 'A4', 'three', 'A5'])
    expect(harness.requests.at(-1)?.messages).toHaveLength(5)
    expect(await runs()).toHaveLength(5)
  })

  test("of an earlier message, named by its id or its input's id, drops all later messages", async () => {
    await open({ script: ANSWERS })
    const page = chat()
    for (const text of ['one', 'two', 'three']) await page.sendMessage({ text })
    await page.regenerate({ messageId: page.messages[3]?.id ?? '' })
    expect(await shown()).toEqual(['one', 'A1', 'two', 'A4'])
    await page.regenerate({ messageId: page.messages[2]?.id ?? '' })
    expect(said(page)).toEqual(['one', 'A1', 'two', 'A5'])
    expect(await shown()).toEqual(['one', 'A1', 'two', 'A5'])
  })

  test('works on a page that was loaded from the stored chat, and keeps media', async () => {
    await open({ script: ANSWERS })
    const files = [{ type: 'file' as const, mediaType: 'image/png', url: `data:image/png;base64,${PNG}` }]
    await chat().sendMessage({ text: 'look', files })
    const page = chat({ messages: await stored() })
    await page.regenerate({ messageId: page.messages[0]?.id ?? '' })
    expect(harness.requests.at(-1)?.messages[0]?.parts).toMatchObject([{ type: 'image' }, { type: 'text' }])
    expect((await stored()).map(({ parts }) => parts.map(({ type }) => type))).toEqual([
      ['file', 'text'],
      ['step-start', 'text'],
    ])
  })

  test('repeats the input of the turn if a failed run was continued', async () => {
    await open({
      script: [
        async function* fails() {
          yield* []
          throw new Error('the model broke')
        },
        { text: 'A2' },
        { text: 'A3' },
      ],
    })
    await chat({ onError: () => undefined }).sendMessage({ text: 'one' })
    await expectJson(harness, 200, 'POST', '/v1/sessions/talk/continue')
    await chat({ messages: await stored() }).regenerate()
    expect(await shown()).toEqual(['one', 'A3'])
  })

  test('at the same time from two pages creates one run', async () => {
    await open({ script: ANSWERS })
    await chat().sendMessage({ text: 'one' })
    const pages = [chat({ messages: await stored() }), chat({ messages: await stored() })]
    await Promise.all(pages.map((page) => page.regenerate()))
    expect(pages.map(said)).toEqual([
      ['one', 'A2'],
      ['one', 'A2'],
    ])
    expect(await runs()).toHaveLength(2)
  })

  test('is refused during a run, and for a message that the chat does not have', async () => {
    const { turn, letGo } = heldTurn()
    await open({ script: [{ text: 'A1' }, turn] })
    await chat().sendMessage({ text: 'one' })
    const messages = await stored()
    const body = { id: 'talk', messages, trigger: 'regenerate-message' }
    const problem = await expectJson(harness, 404, 'POST', '/v1/chat', { ...body, messageId: 'unknown' })
    expect(problem).toMatchObject({ errors: [{ path: 'body.messageId' }] })
    const pending = chat({ messages }).sendMessage({ text: 'two' })
    await expect.poll(() => harness.requests.length).toBe(2)
    const busy = await expectJson(harness, 409, 'POST', '/v1/chat', { ...body, messageId: messages[1]?.id })
    expect(busy).toMatchObject({ type: 'urn:tooltrail:problem:session_busy' })
    letGo()
    await pending
    expect(await runs()).toHaveLength(2)
  })

  test('in a session without a run is refused with 409', async () => {
    await open()
    await expectJson(harness, 201, 'POST', '/v1/sessions', { id: 'talk' })
    const body = { id: 'talk', messages: [{ id: 'a' }], trigger: 'regenerate-message' }
    expect(await expectJson(harness, 409, 'POST', '/v1/chat', body)).toMatchObject({
      type: 'urn:tooltrail:problem:no_run',
    })
  })
})

describe('an edited message', () => {
  test('replaces its run and all later ones, each time that its parts change', async () => {
    await open({ script: ANSWERS })
    const page = chat()
    for (const text of ['one', 'two', 'three']) await page.sendMessage({ text })
    const messageId = page.messages[2]?.id ?? ''
    await page.sendMessage({ text: 'two, better', messageId })
    expect(said(page)).toEqual(['one', 'A1', 'two, better', 'A4'])
    expect(await shown()).toEqual(['one', 'A1', 'two, better', 'A4'])
    await page.sendMessage({ text: 'two', messageId })
    expect(await shown()).toEqual(['one', 'A1', 'two', 'A5'])
    expect(said(page)).toEqual(['one', 'A1', 'two', 'A5'])
    await page.regenerate({ messageId })
    expect(await shown()).toEqual(['one', 'A1', 'two', 'A6'])
  })

  test('that is sent twice with the same parts creates one run', async () => {
    await open({ script: ANSWERS })
    const page = chat()
    await page.sendMessage({ text: 'one' })
    const id = page.messages[0]?.id
    const edit = async (text: string): Promise<void> => {
      const message = { id, role: 'user', parts: [{ type: 'text', text }] }
      await (await harness.send('POST', '/v1/chat', { id: 'talk', messages: [message] })).text()
    }
    await edit('one')
    expect(await runs()).toHaveLength(1)
    for (const text of ['two', 'two', 'three', 'two', 'two']) await edit(text)
    expect(await runs()).toHaveLength(4)
    await page.regenerate()
    await edit('two')
    expect(await runs()).toHaveLength(5)
    expect(await shown()).toEqual(['two', 'A5'])
  })

  test('replaces its run and all later ones on a page that was loaded from the stored chat', async () => {
    await open({ script: ANSWERS })
    const before = chat()
    await before.sendMessage({ text: 'one' })
    await before.sendMessage({ text: 'two' })
    const page = chat({ messages: await stored() })
    const messageId = page.messages[0]?.id ?? ''
    for (const text of ['uno', 'due']) {
      await page.sendMessage({ text, messageId })
      expect(await shown()).toEqual([text, `A${text === 'uno' ? 3 : 4}`])
    }
  })
})
