import { SpanKind, SpanStatusCode, trace } from '@opentelemetry/api'
import type { Span } from '@opentelemetry/api'
import type { Run } from '../../domain/runs/run.ts'
import type { HeldPhases, ReleasedPhase } from './run-state.ts'

/**
 * Runs `work` within an `invoke_agent` span of the run (OpenTelemetry's conventions for generative AI). Without a
 * registered SDK, the span does nothing. The span holds names, ids and counts, but no content.
 */
export async function inRunSpan(state: HeldPhases, work: () => Promise<ReleasedPhase>): Promise<ReleasedPhase> {
  const { run, origin } = state.held
  const attributes = {
    'gen_ai.operation.name': 'invoke_agent',
    'gen_ai.agent.name': run.agent,
    'gen_ai.conversation.id': state.writer.key.session,
    'gen_ai.request.model': state.leader.agent.model,
    'tooltrail.run.id': run.id,
    'tooltrail.run.origin': origin,
  }
  const options = { kind: SpanKind.INTERNAL, attributes }
  return trace.getTracer('tooltrail').startActiveSpan(`invoke_agent ${run.agent}`, options, async (span) => {
    try {
      const released = await work()
      if (released.phase === 'ended') describe(span, released.run)
      return released
    } catch (error) {
      span.setAttribute('error.type', error instanceof Error ? error.name : '_OTHER')
      span.setStatus({ code: SpanStatusCode.ERROR })
      throw error
    } finally {
      span.end()
    }
  })
}

/** Adds the usage, stop reason and error of an ended run to its span. */
function describe(span: Span, { usage, stopReason, error }: Run): void {
  if (usage.inputTokens !== null) span.setAttribute('gen_ai.usage.input_tokens', usage.inputTokens)
  if (usage.outputTokens !== null) span.setAttribute('gen_ai.usage.output_tokens', usage.outputTokens)
  if (stopReason !== undefined) span.setAttribute('tooltrail.run.stop_reason', stopReason)
  if (error === undefined) return
  span.setAttribute('error.type', error.code)
  span.setStatus({ code: SpanStatusCode.ERROR })
}
