import type { OpenRequest } from '../../access/open-requests.ts'
import type { Context } from 'hono'
import type { AppEnv, RouteDependencies } from '../dependencies.ts'
import { streamEvents } from './event-stream.ts'

/** A response waits this long for its first frame, in milliseconds: until then a failure has a status of its own. */
const FIRST_FRAME_TIMEOUT_MS = 5_000

/**
 * Responds with these frames as server-sent events. If making the first of them fails within a few seconds, this rejects with its
 * error, and nothing was sent. Later, `failed` makes the last frame of the error.
 */
export async function streamFrames(
  dependencies: RouteDependencies,
  c: Context<AppEnv>,
  call: OpenRequest,
  open: (signal: AbortSignal) => AsyncIterable<string>,
  failed: (error: Error) => string,
): Promise<Response> {
  const { promise: first, resolve, reject } = Promise.withResolvers<void>()
  let isSent = false
  const response = streamEvents(dependencies, c, call, (signal) => {
    const frames = open(signal)[Symbol.asyncIterator]()
    const begun = frames.next()
    begun.then(() => resolve(), reject)
    return rest(begun, frames)
  })
  const over = new AbortController()
  try {
    await Promise.race([first, dependencies.clock.sleep(FIRST_FRAME_TIMEOUT_MS, over.signal).catch(() => undefined)])
    isSent = true
    return response
  } catch (error) {
    await response.body?.cancel()
    throw error
  } finally {
    over.abort()
  }

  async function* rest(
    begun: Promise<IteratorResult<string>>,
    frames: AsyncIterator<string>,
  ): AsyncGenerator<string, void, undefined> {
    try {
      for (let next = await begun; next.done !== true; next = await frames.next()) yield next.value
    } catch (error) {
      if (!isSent || !(error instanceof Error)) throw error
      yield failed(error)
    } finally {
      await frames.return?.()
    }
  }
}
