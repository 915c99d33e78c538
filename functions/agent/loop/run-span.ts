import { SpanKind, SpanStatusCode, trace } from '@opentelemetry/api'
import type { Span } from '@opentelemetry/api'
import type { Run } from '../../domain/run.ts'
import type { RunState } from './run-state.ts'

/**
 * Does `work` within an `invoke_agent` span of the run (OpenTelemetry's conventions for generative AI); nothing where no SDK is
 * registered. The span holds names, ids and counts, and no content.
 */
export async function inRunSpan<Result>(state: RunState, work: () => Promise<Result>): Promise<Result> {
  const { run, lease, origin } = state.held
  const attributes = {
    'gen_ai.operation.name': 'invoke_agent',
    'gen_ai.agent.name': run.agent,
    'gen_ai.conversation.id': lease.session,
    'gen_ai.request.model': state.leader.agent.model,
    'tooltrail.run.id': run.id,
    'tooltrail.run.origin': origin,
  }
  const options = { kind: SpanKind.INTERNAL, attributes }
  return trace.getTracer('tooltrail').startActiveSpan(`invoke_agent ${run.agent}`, options, async (span) => {
    try {
      return await work()
    } catch (error) {
      span.setAttribute('error.type', error instanceof Error ? error.name : '_OTHER')
      span.setStatus({ code: SpanStatusCode.ERROR })
      throw error
    } finally {
      if (state.ended !== undefined) describe(span, state.ended)
      span.end()
    }
  })
}

/** What the end of the run says of it. */
function describe(span: Span, { usage, stopReason, error }: Run): void {
  if (usage.inputTokens !== null) span.setAttribute('gen_ai.usage.input_tokens', usage.inputTokens)
  if (usage.outputTokens !== null) span.setAttribute('gen_ai.usage.output_tokens', usage.outputTokens)
  if (stopReason !== undefined) span.setAttribute('tooltrail.run.stop_reason', stopReason)
  if (error === undefined) return
  span.setAttribute('error.type', error.code)
  span.setStatus({ code: SpanStatusCode.ERROR })
}
