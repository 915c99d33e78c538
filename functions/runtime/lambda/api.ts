import type { Context } from 'aws-lambda'
import { join } from 'node:path'
import { createDynamoKeyStore } from '../../adapters/dynamodb/key-store.ts'
import { createCallbacks } from '../../channels/callbacks/by-hand.ts'
import { createApp } from '../../http/app.ts'
import { createSharedBytes } from '../../http/streaming/response-bodies.ts'
import { createImageSource } from '../../tools/image-source.ts'
import { readAliases } from '../settings/agents-file.ts'
import { namedCallbacks } from '../settings/channel-settings.ts'
import type { LoopSettings } from '../settings/config.ts'
import { openMcp } from '../open-mcp.ts'
import { invoke } from './invocation.ts'
import { openLoop } from './loop.ts'
import { createStreamingHandler } from './streaming.ts'
import type { StreamingHandler } from './streaming.ts'
import { VERSION } from '../version.ts'

/**
 * Maximum duration of a stream. API Gateway ends streams after 15 minutes. Our streams end earlier and report that more
 * events follow.
 */
const MAX_STREAM_MS = 14 * 60_000 - 15_000
/** Streams and waits end this many milliseconds before the function times out. */
const CLOSING_MS = 10_000

/**
 * Handles the requests of the REST API. If the caller waits for the run or follows its events, the run is executed
 * here. With `Prefer: respond-async`, the run goes to the queue. Lambda sends a process one request at a time.
 */
export function createApiHandler(settings: LoopSettings): StreamingHandler {
  const loop = openLoop(settings)
  const { ports, agents, service, logger } = loop
  const callbacks = createCallbacks({ ...ports, names: namedCallbacks(loop.channels) })
  let closing = new AbortController()
  const app = createApp({
    ...ports,
    keys: createDynamoKeyStore(loop.rows),
    callbacks,
    images: createImageSource(settings),
    service,
    agents,
    log: logger,
    shared: createSharedBytes(),
    settings: {
      version: VERSION,
      openAccess: false,
      corsOrigins: settings.corsOrigins,
      caps: settings.caps,
      aliases: readAliases(settings.agentsFile),
      docsFolder: join(settings.folder, 'docs'),
      pageFolder: join(settings.folder, 'page'),
    },
    mcp: openMcp({ ...ports, service, log: logger, version: VERSION }),
    endpoints: loop.endpoints,
    stopping: () => closing.signal,
  })

  async function around(context: Context, respond: () => Promise<void>): Promise<void> {
    const over = new AbortController()
    const current = (closing = new AbortController())
    const left = Math.min(MAX_STREAM_MS, context.getRemainingTimeInMillis() - CLOSING_MS)
    void ports.clock.sleep(Math.max(0, left), over.signal).then(
      () => current.abort(),
      () => undefined,
    )
    try {
      await invoke(loop, context, 0, respond)
    } finally {
      over.abort()
    }
  }

  return createStreamingHandler(async (request, base) => app.fetch(request, { base }), around)
}
