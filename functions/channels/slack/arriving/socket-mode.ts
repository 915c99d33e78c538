import * as z from 'zod'
import type { Clock } from '../../../ports/clock.ts'
import type { Logger } from '../../../ports/logger.ts'
import { refusedAddress } from '../../../tools/allowed-hosts.ts'
import type { SlackApi } from '../api/web-api.ts'

/** Milliseconds without a message after which a connection counts as dead: Slack's own pings are not shown to programs. */
const QUIET_MS = 900_000
const FIRST_PAUSE_MS = 1_000
const LONGEST_PAUSE_MS = 60_000

const envelope = z.object({ type: z.string(), envelope_id: z.string().optional(), payload: z.unknown().optional() })

export interface SocketDependencies {
  readonly api: Pick<SlackApi, 'call'>
  readonly allowedHosts: readonly string[]
  readonly clock: Clock
  readonly logger: Logger
  takeEvent(payload: unknown): Promise<void>
  takeInteraction(payload: unknown): Promise<void>
}

/**
 * Receives over a connection that this process opens what Slack would send to the door, until `signal` aborts: no public address is
 * needed. What is not acknowledged, because it could not be made durable, Slack sends again.
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
      if (refused !== undefined) throw new Error(`the address of Slack's socket ${refused}`)
      const wasOpen = await receive(dependencies, address, signal)
      failures = wasOpen ? 0 : failures + 1
    } catch (error) {
      if (signal.aborted) return
      failures++
      logger.warn('Slack’s socket could not be opened', { error: String(error) })
    }
    if (failures > 0) {
      const pause = Math.min(FIRST_PAUSE_MS * 2 ** (failures - 1), LONGEST_PAUSE_MS)
      await clock.sleep(pause, signal).catch(() => undefined)
    }
  }
}

/** Receives on one connection until it ends; resolves with whether it was ever open. */
async function receive(dependencies: SocketDependencies, address: URL, signal: AbortSignal): Promise<boolean> {
  const socket = new WebSocket(address)
  const close = (): void => socket.close()
  let wasOpen = false
  let quiet = setTimeout(close, QUIET_MS)
  signal.addEventListener('abort', close)
  try {
    await new Promise<void>((resolve) => {
      socket.addEventListener('open', () => void (wasOpen = true))
      socket.addEventListener('close', () => resolve())
      // What comes after it is a close.
      socket.addEventListener('error', () => undefined)
      socket.addEventListener('message', (event) => {
        clearTimeout(quiet)
        quiet = setTimeout(close, QUIET_MS)
        void take(dependencies, socket, event.data as unknown)
      })
    })
  } finally {
    clearTimeout(quiet)
    signal.removeEventListener('abort', close)
  }
  return wasOpen
}

/** Takes one message, and acknowledges it once what it asks for is durable. */
async function take(dependencies: SocketDependencies, socket: WebSocket, data: unknown): Promise<void> {
  const { logger, takeEvent, takeInteraction } = dependencies
  try {
    const { type, envelope_id: id, payload } = envelope.parse(JSON.parse(String(data)))
    // Slack is about to close it: the next one is opened at once.
    if (type === 'disconnect') return socket.close()
    if (id === undefined) return
    if (type === 'events_api') await takeEvent(payload)
    if (type === 'interactive') await takeInteraction(payload)
    socket.send(JSON.stringify({ envelope_id: id }))
  } catch (error) {
    logger.warn('what came over Slack’s socket was not taken: Slack sends it again', { error: String(error) })
  }
}
