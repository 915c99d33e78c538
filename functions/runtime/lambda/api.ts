import type { Context } from 'aws-lambda'
import { join } from 'node:path'
import packageJson from '../../../package.json' with { type: 'json' }
import { createDynamoKeyStore } from '../../adapters/dynamodb/key-store.ts'
import { createApp } from '../../http/app.ts'
import type { LoopSettings } from '../config.ts'
import { invoke } from './invocation.ts'
import { openLoop } from './loop.ts'
import { createStreamingHandler } from './streaming.ts'
import type { StreamingHandler } from './streaming.ts'

/** API Gateway ends a stream after 15 minutes: ours end before that, and say that there is more. */
const LONGEST_STREAM_MS = 14 * 60_000 - 15_000
/** Milliseconds that are left of the function's time when streams and waits end. */
const CLOSING_MS = 10_000

/**
 * Handles the requests of the REST API. Runs whose callers wait or listen are executed here, those of `Prefer: respond-async` are
 * handed to the queue. Lambda sends a process one request at a time.
 */
export function createApiHandler(settings: LoopSettings): StreamingHandler {
  const loop = openLoop(settings)
  const { ports, agents, service, logger } = loop
  let closing = new AbortController()
  const app = createApp({
    ...ports,
    keys: createDynamoKeyStore(loop.rows),
    service,
    agents,
    log: logger,
    settings: {
      version: packageJson.version,
      openAccess: false,
      corsOrigins: settings.corsOrigins,
      docsFolder: join(settings.folder, 'docs'),
    },
    stopping: () => closing.signal,
  })

  async function around(context: Context, respond: () => Promise<void>): Promise<void> {
    const over = new AbortController()
    const current = (closing = new AbortController())
    const left = Math.min(LONGEST_STREAM_MS, context.getRemainingTimeInMillis() - CLOSING_MS)
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
