import { SpanKind, SpanStatusCode, trace } from '@opentelemetry/api'
import type { Attributes, Span } from '@opentelemetry/api'
import { definedFields } from '../../domain/defined-fields.ts'
import type { ModelRequest } from '../../domain/model-request.ts'
import type { Model, ModelEvent, Models } from '../../ports/model.ts'
import { ModelError } from '../../ports/model.ts'
import type { Tool, ToolRegistry } from '../../ports/tool.ts'

/** Names of providers in OpenTelemetry's conventions for generative AI, if they differ from our names. */
const PROVIDERS: { readonly [provider: string]: string } = { bedrock: 'aws.bedrock' }

/**
 * Wraps models so that each request is a `chat` span. Without a registered SDK, there are no spans. Spans have counts
 * and names, never content.
 */
export function traceModels(models: Models): Models {
  return { open: async (name, use) => traceModel(await models.open(name, use)) }
}

function traceModel(model: Model): Model {
  const slash = model.name.indexOf('/')
  const [provider, id] = [model.name.slice(0, slash), model.name.slice(slash + 1)]
  async function* stream(request: ModelRequest, signal: AbortSignal): AsyncIterable<ModelEvent> {
    const { temperature, maxOutputTokens } = request.options
    const span = startSpan(`chat ${id}`, SpanKind.CLIENT, {
      'gen_ai.operation.name': 'chat',
      'gen_ai.provider.name': PROVIDERS[provider] ?? provider,
      'gen_ai.request.model': id,
      ...definedFields({ 'gen_ai.request.temperature': temperature, 'gen_ai.request.max_tokens': maxOutputTokens }),
    })
    try {
      for await (const event of model.stream(request, signal)) {
        if (event.type === 'completion') describeCompletion(span, event.completion)
        yield event
      }
    } catch (error) {
      fail(span, error)
      throw error
    } finally {
      span.end()
    }
  }
  return { name: model.name, stream }
}

function describeCompletion(
  span: Span,
  { model, finishReason, usage }: Extract<ModelEvent, { type: 'completion' }>['completion'],
): void {
  span.setAttribute('gen_ai.response.model', model.slice(model.indexOf('/') + 1))
  span.setAttribute('gen_ai.response.finish_reasons', [finishReason])
  if (usage.inputTokens !== null) span.setAttribute('gen_ai.usage.input_tokens', usage.inputTokens)
  if (usage.outputTokens !== null) span.setAttribute('gen_ai.usage.output_tokens', usage.outputTokens)
}

/** Wraps tools so that each execution is an `execute_tool` span. Without a registered SDK, there are no spans. */
export function traceTools(registry: ToolRegistry): ToolRegistry {
  return {
    open: async (agent, run) =>
      new Map(Array.from(await registry.open(agent, run), ([name, tool]) => [name, traceTool(tool)])),
  }
}

function traceTool(tool: Tool): Tool {
  return {
    ...tool,
    async execute(input, context) {
      const span = startSpan(`execute_tool ${tool.name}`, SpanKind.INTERNAL, {
        'gen_ai.operation.name': 'execute_tool',
        'gen_ai.tool.name': tool.name,
        'gen_ai.tool.type': 'function',
        'gen_ai.tool.call.id': context.toolCallId,
        'gen_ai.conversation.id': context.session,
      })
      try {
        return await tool.execute(input, context)
      } catch (error) {
        fail(span, error)
        throw error
      } finally {
        span.end()
      }
    },
  }
}

const startSpan = (name: string, kind: SpanKind, attributes: Attributes): Span =>
  trace.getTracer('tooltrail').startSpan(name, { kind, attributes })

/** Marks a span as failed with the error's kind only. Error messages may quote a model or a tool. */
function fail(span: Span, error: unknown): void {
  const kind = error instanceof ModelError ? error.code : error instanceof Error ? error.name : '_OTHER'
  span.setAttribute('error.type', kind)
  span.setStatus({ code: SpanStatusCode.ERROR })
}
