import type { ChatTransport as Transport, UIMessage } from 'ai';
/** Fields of a request's body. */
type Body = {
    readonly [field: string]: unknown;
};
interface CommonOptions {
    /**
     * Base address of the API without `/v1`, such as `http://127.0.0.1:3000`. Or a path of your own server, such as
     * `/api/tooltrail`, whose route adds the key.
     */
    readonly url: string;
    /**
     * Fields in the body of each input, such as `agent` and `tools`. For versions 5 and 6 of `ai`, add `sdk: 6`, because
     * these versions cannot discard a step.
     *
     * @default { sdk: 7 }
     */
    readonly body?: Body | (() => Body) | undefined;
    /** @default - the global `fetch` */
    readonly fetch?: typeof globalThis.fetch | undefined;
}
export type ChatTransportOptions = CommonOptions & ({
    readonly key?: string | undefined;
    readonly token?: undefined;
}
/** Returns the key or token for each request. */
 | {
    readonly key?: undefined;
    readonly token: () => Promise<string>;
});
export type ChatTransport<Message extends UIMessage = UIMessage> = Transport<Message>;
/** Creates a transport, with or without `new`. */
interface ChatTransportFactory {
    new <Message extends UIMessage = UIMessage>(options: ChatTransportOptions): ChatTransport<Message>;
    <Message extends UIMessage = UIMessage>(options: ChatTransportOptions): ChatTransport<Message>;
}
/**
 * Creates a transport of the AI SDK's `useChat` for `/v1/chat`. `stop()` cancels the run; closing the page or losing
 * the connection does not. `regenerate()` and edited messages replace earlier runs. `resumeStream()` follows the run in
 * progress from its start.
 */
export declare const ChatTransport: ChatTransportFactory;
export {};
