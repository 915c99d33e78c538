import type { Clock } from '../../ports/clock.ts'
import type { Logger } from '../../ports/logger.ts'
import type { TraceExport, TraceSettings } from './trace-export.ts'

const NOWHERE: TraceExport = { flush: async () => undefined, stop: async () => undefined }

/**
 * Starts to send this process's spans to the destination in `settings`. Without settings, nothing is recorded and
 * nothing is loaded.
 */
export async function openTraces(
  settings: TraceSettings | undefined,
  dependencies: { readonly clock: Clock; readonly logger: Logger },
): Promise<TraceExport> {
  if (settings === undefined) return NOWHERE
  const { startTraceExport } = await import('./trace-export.ts')
  return startTraceExport(settings, dependencies)
}
