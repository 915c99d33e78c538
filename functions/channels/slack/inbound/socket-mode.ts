import { steadyTime } from '../../../domain/time/steady-time.ts'
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import * as z from 'zod'
import { jsonFault } from '../../../log/json/json-size.ts'
import type { Clock } from '../../../ports/clock.ts'
import type { Logger } from '../../../ports/logger.ts'
import { refusedAddress } from '../../../tools/allowed-hosts.ts'
import type { SlackApi } from '../api/web-api.ts'
import { jsonText } from '../../../log/json/well-formed.ts'

/** Timeout for opening a connection. */
const OPENING_MS = 10_000
/** Milliseconds without any traffic after which a connection counts as dead. Slack pings at least twice a minute. */
const QUIET_MS = 90_000
/** Node's diagnostics channel that reports pings. Node itself answers the pings. */
const PINGS = 'undici:websocket:ping'
/** Limit of a message, in characters. Slack's events are far smaller; the HTTP endpoint has the same limit. */
const MAX_MESSAGE_CHARACTERS = 4 * 1024 * 1024
/**
 * Limit of the characters of messages that are not durable yet, because a WebSocket has no flow control. Each message
 * counts with its own characters plus `MESSAGE`.
 */
const MAX_PENDING_CHARACTERS = 32 * 1024 * 1024
const MESSAGE = 4_096
/** A connection that ends earlier than this counts as a failure. Slack's connections last for hours. */
const SHORT_LIFE_MS = 30_000
const FIRST_PAUSE_MS = 1_000
const MAX_PAUSE_MS = 60_000

const envelope = z.object({
  type: z.string(),
  envelope_id: z.string().optional(),
  payload: z.unknown().optional(),
  reason: z.string().optional(),
})

export interface SocketDependencies {
  readonly api: Pick<SlackApi, 'call'>
  readonly allowedHosts: readonly string[]
  readonly clock: Clock
  readonly logger: Logger
  takeEvent(payload: unknown): Promise<void>
  takeInteraction(payload: unknown): Promise<void>
}

/**
 * Receives events over a WebSocket that this process opens, so that no public address is needed. Ends when `signal`
 * aborts. A message that could not be made durable is not acknowledged, and Slack sends it again.
 */
export async function listenOnSocket(
  dependencies: SocketDependencies,
  appToken: string,
  signal: AbortSignal,
): Promise<void> {
  const { api, allowedHosts, clock, logger } = dependencies
  for (let failures = 0; !signal.aborted;) {
    try {
      const { url } = await api.call({ token: appToken, method: 'apps.connections.open', args: {}, team: '', signal })
      const address = new URL(z.string().parse(url))
      const refused = refusedAddress(new URL(address.href.replace(/^ws/, 'http')), allowedHosts)
      signal.throwIfAborted()
      if (refused !== undefined) throw new Error(`the address of Slack's socket ${refused}`)
      const now = steadyTime(() => clock.now())
      const began = now()
      const { hasCome, reason } = await receive(dependencies, address, signal)
      if (signal.aborted) return
      if (!hasCome) throw new Error('nothing came over it')
      const lived = now() - began
      if (lived < SHORT_LIFE_MS) throw new Error(`it was over after ${lived} ms (${reason})`)
      logger.info('Slack’s socket is opened anew', { reason })
      failures = 0
    } catch (error) {
      if (signal.aborted) return
      failures++
      logger.warn('Slack’s socket did not open, or did not last', { error: String(error) })
      const pause = Math.min(FIRST_PAUSE_MS * 2 ** (failures - 1), MAX_PAUSE_MS)
      await clock.sleep(pause, signal).catch(() => undefined)
    }
  }
}

/** The result of a connection that has ended. */
interface Received {
  readonly hasCome: boolean
  /** Why the connection ended. */
  readonly reason: string
}

/** Receives on one connection until it closes or is silent for too long. */
async function receive(dependencies: SocketDependencies, address: URL, signal: AbortSignal): Promise<Received> {
  const { clock, logger } = dependencies
  const socket = new WebSocket(address)
  const over = Promise.withResolvers<string>()
  // Ends the wait without the socket's `close` event, because a dead connection never emits it.
  const end = (reason: string) => (): void => over.resolve(reason)
  let waiting = new AbortController()
  const wait = (milliseconds: number): void => {
    waiting.abort()
    waiting = new AbortController()
    clock.sleep(milliseconds, waiting.signal).then(end('nothing comes any more'), () => undefined)
  }
  const pinged = (message: unknown): void => {
    if ((message as { readonly websocket?: unknown }).websocket === socket) wait(QUIET_MS)
  }
  let hasCome = false
  let inFlight = 0
  wait(OPENING_MS)
  const stop = end('the program stops')
  signal.addEventListener('abort', stop)
  subscribe(PINGS, pinged)
  socket.addEventListener('open', () => wait(QUIET_MS))
  socket.addEventListener('close', end('it was closed'))
  // The error is ignored, because a `close` event follows it.
  socket.addEventListener('error', () => undefined)
  socket.addEventListener('message', (event) => {
    hasCome = true
    wait(QUIET_MS)
    const data = String(event.data)
    const size = data.length + MESSAGE
    if (inFlight + size > MAX_PENDING_CHARACTERS) {
      logger.warn(
        'more came over Slack’s socket than can be stored meanwhile: it is opened anew, and Slack sends it again',
      )
      return over.resolve('more came than can be stored')
    }
    inFlight += size
    void take(dependencies, socket, data).then((reason) => {
      inFlight -= size
      if (reason !== undefined) over.resolve(reason)
    })
  })
  try {
    const reason = await over.promise
    return { hasCome, reason }
  } finally {
    waiting.abort()
    signal.removeEventListener('abort', stop)
    unsubscribe(PINGS, pinged)
    socket.close()
  }
}

/**
 * Processes one message, and acknowledges it once the requested work is durable. Returns the reason if Slack is about
 * to close the connection.
 */
async function take(dependencies: SocketDependencies, socket: WebSocket, data: string): Promise<string | undefined> {
  const { logger, takeEvent, takeInteraction } = dependencies
  try {
    const fault =
      data.length > MAX_MESSAGE_CHARACTERS ? `has more than ${MAX_MESSAGE_CHARACTERS} characters` : jsonFault(data)
    if (fault !== undefined) throw new RangeError(`a message ${fault}`)
    const { type, envelope_id: id, payload, reason } = envelope.parse(JSON.parse(data))
    // Slack is about to close the connection.
    if (type === 'disconnect') return `Slack says ${reason?.slice(0, 200) ?? 'disconnect'}`
    if (id === undefined) return undefined
    if (type === 'events_api') await takeEvent(payload)
    if (type === 'interactive') await takeInteraction(payload)
    socket.send(jsonText({ envelope_id: id }))
  } catch (error) {
    logger.warn('what came over Slack’s socket was not taken: Slack sends it again', { error: String(error) })
  }
  return undefined
}
