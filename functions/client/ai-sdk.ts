import type { ChatTransport as Transport, UIMessage } from 'ai'
import { BROKEN, followRun } from './followed-chat.ts'
import { createSender } from './send.ts'
import { createStops } from './stop-run.ts'

/** Fields of a request's body. */
type Body = { readonly [field: string]: unknown }

interface CommonOptions {
  /**
   * Base address of the API without `/v1`, such as `http://127.0.0.1:3000`. Or a path of your own server, such as
   * `/api/tooltrail`, whose route adds the key.
   */
  readonly url: string
  /**
   * Fields in the body of each input, such as `agent` and `tools`. For versions 5 and 6 of `ai`, add `sdk: 6`, because
   * these versions cannot discard a step.
   *
   * @default { sdk: 7 }
   */
  readonly body?: Body | (() => Body) | undefined
  /** @default - the global `fetch` */
  readonly fetch?: typeof globalThis.fetch | undefined
}
export type ChatTransportOptions = CommonOptions &
  (
    | { readonly key?: string | undefined; readonly token?: undefined }
    /** Returns the key or token for each request. */
    | { readonly key?: undefined; readonly token: () => Promise<string> }
  )

export type ChatTransport<Message extends UIMessage = UIMessage> = Transport<Message>

/** Creates a transport, with or without `new`. */
interface ChatTransportFactory {
  new <Message extends UIMessage = UIMessage>(options: ChatTransportOptions): ChatTransport<Message>
  <Message extends UIMessage = UIMessage>(options: ChatTransportOptions): ChatTransport<Message>
}

/**
 * Creates a transport of the AI SDK's `useChat` for `/v1/chat`. `stop()` cancels the run; closing the page or losing
 * the connection does not. `regenerate()` and edited messages replace earlier runs. `resumeStream()` follows the run in
 * progress from its start.
 */
export const ChatTransport = function createChatTransport<Message extends UIMessage>({
  url,
  key,
  token,
  body = {},
  fetch,
}: ChatTransportOptions): ChatTransport<Message> {
  const send = createSender({ url, key: token ?? key, fetch })
  const stops = createStops(send)
  /** For each chat: the signal of its newest resumed request. */
  const resumed = new Map<string, AbortSignal | undefined>()
  return {
    resumeStreamIsReplay: true,
    async sendMessages({ trigger, chatId, messageId, messages, abortSignal, headers, body: more }) {
      await stops.settled(chatId)
      abortSignal?.throwIfAborted()
      const sent: Body = {
        ...{ sdk: 7, ...(typeof body === 'function' ? body() : body), ...(more as Body) },
        ...{ id: chatId, messages: [messageToSend(trigger, messageId, messages)], trigger, messageId },
      }
      const stream = await followRun(
        (signal) => send('POST', '/v1/chat', { body: sent, headers: fieldsOf(headers), signal }),
        abortSignal,
        (stopped) => stops.stop(chatId, stopped),
      )
      if (stream === undefined) throw new TypeError(BROKEN)
      return stream
    },
    async reconnectToStream({ chatId, abortSignal, headers }) {
      resumed.set(chatId, abortSignal)
      const path = `/v1/chat/${encodeURIComponent(chatId)}/stream`
      const stream = await followRun(
        (signal) => send('GET', path, { headers: fieldsOf(headers), signal }),
        abortSignal,
        (stopped) => {
          // When `useChat` resumes again, it aborts the earlier resumed request. Such an abort closes the request, but
          // does not stop the run.
          if (resumed.get(chatId) === abortSignal) stops.stop(chatId, stopped)
          else stopped.close()
        },
      )
      return stream ?? null
    },
  }
} as unknown as ChatTransportFactory

/** Returns the newest message, or the one whose calls are answered. The server has the others. */
function messageToSend<Message extends UIMessage>(trigger: string, answered: string | undefined, messages: Message[]) {
  const named = trigger === 'submit-message' ? messages.find(({ id }) => id === answered) : undefined
  return named ?? messages.at(-1)
}

const fieldsOf = (headers: Record<string, string> | Headers = {}): Record<string, string> =>
  Object.fromEntries(new Headers(headers))
