import { AsyncLocalStorage } from 'node:async_hooks'
import { context, ROOT_CONTEXT, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api'
import type { Context, ContextManager, Span, SpanOptions, Tracer } from '@opentelemetry/api'
import { afterEach, expect, test } from 'vitest'
import { z } from 'zod'
import { ModelError } from '../../../functions/ports/model.ts'
import { traceModels, traceTools } from '../../../functions/runtime/tracing/tracing.ts'
import { defineTool } from '../../../functions/tools/define-tool.ts'
import { completionOf, openHarness } from '../../agent/harness.ts'
import type { Harness, Turn } from '../../agent/harness.ts'

interface Recorded {
  readonly name: string
  readonly kind: SpanKind | undefined
  readonly parent: string | undefined
  readonly attributes: Record<string, unknown>
  status?: SpanStatusCode
  ended: boolean
}

/** Registers an SDK for OpenTelemetry's API. It records spans, and keeps the active span across awaits. */
function record(): Recorded[] {
  const spans: Recorded[] = []
  const store = new AsyncLocalStorage<Context>()
  const names = new Map<Span, string>()
  const manager: ContextManager = {
    active: () => store.getStore() ?? ROOT_CONTEXT,
    with: (active, work, self, ...given) => store.run(active, () => work.call(self, ...given)),
    bind: (_active, target) => target,
    enable: () => manager,
    disable: () => manager,
  }
  const startSpan = (name: string, options: SpanOptions = {}, active = context.active()): Span => {
    const above = trace.getSpan(active)
    const parent = above === undefined ? undefined : names.get(above)
    const spanRecord: Recorded = {
      name,
      kind: options.kind,
      parent,
      attributes: { ...options.attributes },
      ended: false,
    }
    spans.push(spanRecord)
    const span = {
      ...trace.wrapSpanContext({ traceId: '1'.repeat(32), spanId: '1'.repeat(16), traceFlags: 1 }),
      setAttribute: (key: string, value: unknown) => Object.assign(spanRecord.attributes, { [key]: value }),
      setStatus: ({ code }: { code: SpanStatusCode }) => Object.assign(spanRecord, { status: code }),
      end: () => void (spanRecord.ended = true),
    } as unknown as Span
    names.set(span, name)
    return span
  }
  const startActiveSpan = (name: string, options: SpanOptions, work: (span: Span) => unknown): unknown => {
    const span = startSpan(name, options)
    return context.with(trace.setSpan(context.active(), span), () => work(span))
  }
  const tracer = { startSpan, startActiveSpan } as unknown as Tracer
  context.setGlobalContextManager(manager)
  trace.setGlobalTracerProvider({ getTracer: () => tracer })
  return spans
}

let harness: Harness | undefined
afterEach(async () => {
  await harness?.close()
  harness = undefined
  trace.disable()
  context.disable()
})

const SAID = 'a-private-word'
const echo = defineTool({
  name: 'echo',
  description: 'Echoes.',
  input: z.strictObject({ text: z.string() }),
  idempotent: true,
  execute: async ({ text }) => {
    if (text === 'fail') throw new RangeError(SAID)
    return { text }
  },
})

async function run(script: readonly Turn[]): Promise<void> {
  harness = await openHarness({
    script,
    tools: [echo],
    registry: traceTools,
    change: (ports) => ({ ...ports, models: traceModels(ports.models) }),
  })
  await harness.settled(await harness.submit(SAID))
}

test('a run is an invoke_agent span with a chat span per request and an execute_tool span per call', async () => {
  const spans = record()
  await run([
    { calls: [{ name: 'echo', arguments: `{"text":"${SAID}"}` }], tokens: 7 },
    { text: SAID, tokens: 9 },
  ])
  expect(spans.map(({ name, parent, kind }) => [name, parent, kind])).toEqual([
    ['invoke_agent default', undefined, SpanKind.INTERNAL],
    ['chat ed', 'invoke_agent default', SpanKind.CLIENT],
    ['execute_tool echo', 'invoke_agent default', SpanKind.INTERNAL],
    ['chat ed', 'invoke_agent default', SpanKind.CLIENT],
  ])
  expect(spans.every(({ ended }) => ended)).toBe(true)
  expect(spans[0]?.attributes).toMatchObject({
    'gen_ai.operation.name': 'invoke_agent',
    'gen_ai.agent.name': 'default',
    'gen_ai.conversation.id': 's1',
  })
  expect(spans[1]?.attributes).toMatchObject({
    'gen_ai.operation.name': 'chat',
    'gen_ai.provider.name': 'script',
    'gen_ai.request.model': 'ed',
  })
  expect(spans[2]?.attributes).toMatchObject({ 'gen_ai.operation.name': 'execute_tool', 'gen_ai.tool.name': 'echo' })
  expect(JSON.stringify(spans)).not.toContain(SAID)
})

test('a failure is recorded by its kind, without its message', async () => {
  const spans = record()
  await run([
    { calls: [{ name: 'echo', arguments: '{"text":"fail"}' }] },
    async function* refuse() {
      yield* []
      throw new ModelError('refused', SAID, { retryable: false })
    },
  ])
  const failed = spans.filter(({ status }) => status === SpanStatusCode.ERROR)
  expect(failed.map(({ name, attributes }) => [name, attributes['error.type']])).toEqual([
    ['invoke_agent default', 'refused'],
    ['execute_tool echo', 'RangeError'],
    ['chat ed', 'refused'],
  ])
  expect(JSON.stringify(spans)).not.toContain(SAID)
})

test('tokens and the finish reason are attributes of the chat span', async () => {
  const spans = record()
  const usage = { ...completionOf({ text: 'fine', tokens: 11 }).usage, inputTokens: 8, outputTokens: 3 }
  await run([
    async function* answer() {
      yield { type: 'completion', completion: { ...completionOf({ text: 'fine' }), usage } }
    },
  ])
  expect(spans[1]?.attributes).toMatchObject({
    'gen_ai.usage.input_tokens': 8,
    'gen_ai.usage.output_tokens': 3,
    'gen_ai.response.finish_reasons': [expect.any(String)],
  })
})

test('a run completes without a tracing SDK', async () => {
  await run([{ text: 'fine' }])
  expect(harness?.events.at(-1)?.type).toBe('run.completed')
})
