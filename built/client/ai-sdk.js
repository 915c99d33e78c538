import { BROKEN, followRun } from './followed-chat.js';
import { createSender } from './send.js';
import { createStops } from './stop-run.js';
/**
 * Creates a transport of the AI SDK's `useChat` for `/v1/chat`. `stop()` cancels the run; closing the page or losing
 * the connection does not. `regenerate()` and edited messages replace earlier runs. `resumeStream()` follows the run in
 * progress from its start.
 */
export const ChatTransport = function createChatTransport({ url, key, token, body = {}, fetch, }) {
    const send = createSender({ url, key: token ?? key, fetch });
    const stops = createStops(send);
    /** For each chat: the signal of its newest resumed request. */
    const resumed = new Map();
    return {
        resumeStreamIsReplay: true,
        async sendMessages({ trigger, chatId, messageId, messages, abortSignal, headers, body: more }) {
            await stops.settled(chatId);
            abortSignal?.throwIfAborted();
            const sent = {
                ...{ sdk: 7, ...(typeof body === 'function' ? body() : body), ...more },
                ...{ id: chatId, messages: [messageToSend(trigger, messageId, messages)], trigger, messageId },
            };
            const stream = await followRun((signal) => send('POST', '/v1/chat', { body: sent, headers: fieldsOf(headers), signal }), abortSignal, (stopped) => stops.stop(chatId, stopped));
            if (stream === undefined)
                throw new TypeError(BROKEN);
            return stream;
        },
        async reconnectToStream({ chatId, abortSignal, headers }) {
            resumed.set(chatId, abortSignal);
            const path = `/v1/chat/${encodeURIComponent(chatId)}/stream`;
            const stream = await followRun((signal) => send('GET', path, { headers: fieldsOf(headers), signal }), abortSignal, (stopped) => {
                // When `useChat` resumes again, it aborts the earlier resumed request. Such an abort closes the request, but
                // does not stop the run.
                if (resumed.get(chatId) === abortSignal)
                    stops.stop(chatId, stopped);
                else
                    stopped.close();
            });
            return stream ?? null;
        },
    };
};
/** Returns the newest message, or the one whose calls are answered. The server has the others. */
function messageToSend(trigger, answered, messages) {
    const named = trigger === 'submit-message' ? messages.find(({ id }) => id === answered) : undefined;
    return named ?? messages.at(-1);
}
const fieldsOf = (headers = {}) => Object.fromEntries(new Headers(headers));
