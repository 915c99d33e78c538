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

/** Timeout of a batch including its retries, in milliseconds. A batch that takes longer is dropped. */
const EXPORT_MS = 2_000
/** Maximum duration of a flush, in milliseconds. */
const FLUSH_MS = 2 * EXPORT_MS
/** Interval between two warnings about dropped spans. It is long, because the endpoint may be down for hours. */
const WARN_EVERY_MS = 60_000

export interface TraceSettings {
  /** Base address of the OTLP endpoint over HTTP, without `/v1/traces`. */
  readonly endpoint: string
  /** Returns the headers of a batch, such as a key. Called for each batch. A rejection drops the batch. */
  readonly headers: () => Promise<Readonly<Record<string, string>>>
  /** @default none */
  readonly environment?: string | undefined
}

interface Dependencies {
  readonly clock: Clock
  readonly logger: Pick<Logger, 'warn'>
}

export interface TraceExport {
  /**
   * Sends the spans that have ended. Resolves within seconds, once they were accepted or dropped. Never rejects.
   */
  flush(): Promise<void>
  /** Flushes, and stops recording in this process. */
  stop(): Promise<void>
}

/**
 * Records the spans of this process and sends them to an OTLP endpoint: JSON over HTTP, in batches, at least every 5 s.
 * This module loads the SDK, so import it only if traces are enabled. Spans that the endpoint does not accept are
 * dropped with a warning; at most 2,048 spans wait.
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
    // A failure is ignored, because the exporter has logged the failure.
    await processor.forceFlush().catch(() => undefined)
    // The processor's flush does not wait for batches that are being sent, but the sender's flush does.
    await sender.forceFlush()
  }
  async function flush(): Promise<void> {
    const over = new AbortController()
    try {
      // The package's own timeout ends only a wait for a silent endpoint. An endpoint that responds byte by byte would
      // block the flush for ever.
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

/** Wraps an exporter so that it warns about dropped spans. */
function warningOf(exporter: SpanExporter, host: string, { clock, logger }: Dependencies): SpanExporter {
  let dropped = 0
  let warnedAt = Number.NEGATIVE_INFINITY
  return {
    export(spans, done) {
      exporter.export(spans, (result) => {
        if (result.error !== undefined) dropped += spans.length
        if (result.error !== undefined && Math.abs(clock.now() - warnedAt) >= WARN_EVERY_MS) {
          warnedAt = clock.now()
          logger.warn('spans were dropped: the endpoint did not accept them', {
            host,
            spans: dropped,
            error: result.error.message,
          })
          dropped = 0
        }
        done(result)
      })
    },
    forceFlush: async () => exporter.forceFlush?.(),
    shutdown: async () => exporter.shutdown(),
  }
}
