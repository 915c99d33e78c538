import { AbstractChat, DefaultChatTransport } from 'ai'
import type { ChatInit, ChatState, ChatStatus, UIMessage } from 'ai'
import { expect } from 'vitest'
import { deviations } from '../conformance.ts'
import type { HttpHarness } from '../harness.ts'

/** Creates a transport of the real package for this program. */
export function chatTransport(harness: HttpHarness, body: object = {}): DefaultChatTransport<UIMessage> {
  return new DefaultChatTransport({
    api: 'http://localhost:3000/v1/chat',
    body: { sdk: 7, ...body },
    fetch: async (input, init) => {
      const request = new Request(input as Request, init as RequestInit)
      const response = await harness.program.app.fetch(request)
      expect(await deviations(harness.document, request, response), request.url).toEqual([])
      return response
    },
  })
}

/** The state of `useChat`, without React. */
function plainState(messages: UIMessage[]): ChatState<UIMessage> {
  return {
    status: 'ready' as ChatStatus,
    error: undefined,
    messages,
    pushMessage(message) {
      this.messages = [...this.messages, message]
    },
    popMessage() {
      this.messages = this.messages.slice(0, -1)
    },
    replaceMessage(index, message) {
      this.messages = this.messages.with(index, message)
    },
    snapshot: (value) => structuredClone(value),
  }
}

/** The chat behind `useChat`. */
export class TestChat extends AbstractChat<UIMessage> {
  constructor({ messages = [], ...init }: ChatInit<UIMessage>) {
    super({ ...init, state: plainState(messages) })
  }
}
