import type { OpenRequest } from '../../access/open-requests.ts'
import type { Context } from 'hono'
import type { AppEnv, RouteDependencies } from '../dependencies.ts'
import { streamEvents } from './event-stream.ts'

/** Maximum time that the headers wait for the first frame. A failure within this time gets its own status. */
const FIRST_FRAME_TIMEOUT_MS = 5_000

/**
 * Responds with these frames as server-sent events. If the first frame fails within `FIRST_FRAME_TIMEOUT_MS`, rejects
 * with its error and sends nothing. For a later error, `failed` builds the last frame.
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
