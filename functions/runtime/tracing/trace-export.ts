import { context, trace } from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http'
import { resourceFromAttributes } from '@opentelemetry/resources'
import { BatchSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace'
import type { SpanExporter } from '@opentelemetry/sdk-trace'
import { definedFields } from '../../domain/defined-fields.ts'
import type { Clock } from '../../ports/clock.ts'
import type { Logger } from '../../ports/logger.ts'
import { VERSION } from '../version.ts'

/** Milliseconds after which a batch that was not taken is dropped; retries are within them. */
const EXPORT_MS = 2_000
/** The most milliseconds that a flush takes. */
const FLUSH_MS = 2 * EXPORT_MS
/** Milliseconds between two warnings about spans that were dropped: whoever takes them may be down for hours. */
const WARN_EVERY_MS = 60_000

export interface TraceSettings {
  /** Where OTLP over HTTP is taken: the base address, without `/v1/traces`. */
  readonly endpoint: string
  /** Sent with every batch, such as a key; read for each. A rejection drops the batch. */
  readonly headers: () => Promise<Readonly<Record<string, string>>>
  /** @default none */
  readonly environment?: string | undefined
}

interface Dependencies {
  readonly clock: Clock
  readonly logger: Pick<Logger, 'warn'>
}

export interface TraceExport {
  /** Sends the spans that have ended. Resolves when they were taken or dropped, within a few seconds, and never rejects. */
  flush(): Promise<void>
  /** Flushes, and ends the recording of this process. */
  stop(): Promise<void>
}

/**
 * Records the spans of this process and sends them to an OTLP endpoint: JSON over HTTP, in batches, at least every 5 s. Loads the
 * SDK, so import it only where traces are wanted. Spans that nobody takes are dropped with a warning; at most 2,048 wait.
 */
export function startTraceExport(settings: TraceSettings, { clock, logger }: Dependencies): TraceExport {
  const { endpoint, headers, environment } = settings
  const sender = new OTLPTraceExporter({
    url: `${endpoint.replace(/\/+$/, '')}/v1/traces`,
    headers: async () => ({ ...(await headers()) }),
    timeoutMillis: EXPORT_MS,
  })
  const exporter = warningOf(sender, new URL(endpoint).host, { clock, logger })
  const processor = new BatchSpanProcessor({ exporter, exportTimeoutMillis: FLUSH_MS })
  const provider = new TracerProvider({
    resource: resourceFromAttributes({
      'service.name': 'tooltrail',
      'service.version': VERSION,
      ...definedFields({ 'deployment.environment.name': environment }),
    }),
    spanProcessors: [processor],
  })
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())
  trace.setGlobalTracerProvider(provider)
  async function sendAll(): Promise<void> {
    // The exporter has warned of what fails.
    await processor.forceFlush().catch(() => undefined)
    // The processor knows nothing any more of batches that are being sent already.
    await sender.forceFlush()
  }
  async function flush(): Promise<void> {
    const over = new AbortController()
    try {
      // The package's own limit is for silence: whoever responds byte by byte would hold it for ever.
      await Promise.race([sendAll(), clock.sleep(FLUSH_MS, over.signal)])
    } finally {
      over.abort()
    }
  }
  return {
    flush,
    async stop() {
      await flush()
      trace.disable()
      context.disable()
    },
  }
}

/** The exporter, with a warning when spans were dropped. */
function warningOf(exporter: SpanExporter, host: string, { clock, logger }: Dependencies): SpanExporter {
  let dropped = 0
  let warnedAt = Number.NEGATIVE_INFINITY
  return {
    export(spans, done) {
      exporter.export(spans, (result) => {
        if (result.error !== undefined) dropped += spans.length
        if (result.error !== undefined && Math.abs(clock.now() - warnedAt) >= WARN_EVERY_MS) {
          warnedAt = clock.now()
          logger.warn('spans were dropped: nobody took them', { host, spans: dropped, error: result.error.message })
          dropped = 0
        }
        done(result)
      })
    },
    forceFlush: async () => exporter.forceFlush?.(),
    shutdown: async () => exporter.shutdown(),
  }
}
