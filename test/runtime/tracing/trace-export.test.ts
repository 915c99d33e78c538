/* Evidence, house: Spans reach an OTLP endpoint, and are sent before a function freezes. */
import { trace } from '@opentelemetry/api'
import { afterEach, expect, test } from 'vitest'
import { z } from 'zod'
import { createSystemClock } from '../../../functions/adapters/memory/system-clock.ts'
import { startTraceExport } from '../../../functions/runtime/tracing/trace-export.ts'
import type { TraceExport, TraceSettings } from '../../../functions/runtime/tracing/trace-export.ts'
import { traceModels, traceTools } from '../../../functions/runtime/tracing/tracing.ts'
import { defineTool } from '../../../functions/tools/define-tool.ts'
import { openHarness } from '../../agent/harness.ts'
import { startReceiver } from './otlp-receiver.ts'

const SAID = 'a-private-word'
const KEY = 'a-key-of-the-collector'
const cleanUp: (() => unknown)[] = []
afterEach(async () => {
  for (const step of cleanUp.splice(0).toReversed()) await step()
})

function start(settings: Partial<TraceSettings>): { readonly traces: TraceExport; readonly warnings: string[] } {
  const warnings: string[] = []
  const warn = (message: string, fields?: object): void => void warnings.push(JSON.stringify([message, fields]))
  const all = { endpoint: 'http://127.0.0.1:1', headers: async () => ({}), ...settings }
  const traces = startTraceExport(all, { clock: createSystemClock(), logger: { warn } })
  cleanUp.push(() => traces.stop())
  return { traces, warnings }
}

async function receiver(...respond: Parameters<typeof startReceiver>) {
  const started = await startReceiver(...respond)
  cleanUp.push(started.close)
  return started
}

const span = (): void => trace.getTracer('test').startSpan('a span').end()

test('the spans of a run reach an OTLP endpoint with names and counts, without content', async () => {
  const { endpoint, spans, refused, headers } = await receiver()
  const { traces } = start({ endpoint, headers: async () => ({ 'x-api-key': KEY }), environment: 'dev' })
  const echo = defineTool({
    name: 'echo',
    description: 'Echoes.',
    input: z.strictObject({ text: z.string() }),
    idempotent: true,
    execute: async ({ text }) => ({ text }),
  })
  const harness = await openHarness({
    script: [{ calls: [{ name: 'echo', arguments: `{"text":"${SAID}"}` }] }, { text: SAID }],
    tools: [echo],
    registry: traceTools,
    change: (ports) => ({ ...ports, models: traceModels(ports.models) }),
  })
  cleanUp.push(() => harness.close())
  await harness.settled(await harness.submit(SAID))
  await traces.flush()
  expect(refused).toEqual([])
  const nameOf = new Map(spans.map(({ spanId, name }) => [spanId, name]))
  const placed = spans.map(({ name, parentSpanId = '' }) => `${nameOf.get(parentSpanId) ?? ''} > ${name}`)
  expect(placed.toSorted()).toEqual([
    ' > invoke_agent default',
    'invoke_agent default > chat ed',
    'invoke_agent default > chat ed',
    'invoke_agent default > execute_tool echo',
  ])
  expect(new Set(spans.map(({ traceId }) => traceId)).size).toBe(1)
  expect(spans[0]?.resource).toMatchObject({ 'service.name': 'tooltrail', 'deployment.environment.name': 'dev' })
  expect(headers.every((sent) => sent['x-api-key'] === KEY)).toBe(true)
  expect(JSON.stringify(spans)).not.toContain(SAID)
})

test('a flush also waits for spans that are already being sent', async () => {
  const { endpoint, spans } = await receiver((_request, response) => void setTimeout(() => response.end('{}'), 300))
  const { traces } = start({ endpoint })
  // A full batch is sent at once, without a flush.
  for (let count = 0; count < 512; count++) span()
  const begun = performance.now()
  await traces.flush()
  expect([spans.length, performance.now() - begun > 250]).toEqual([512, true])
})

test('two flushes to an unreachable endpoint end within 20 s and log one warning without the key', async () => {
  const { traces, warnings } = start({ headers: async () => ({ 'x-api-key': KEY }) })
  const begun = performance.now()
  for (const _flush of [1, 2]) {
    span()
    await traces.flush()
  }
  expect(performance.now() - begun).toBeLessThan(20_000)
  expect(warnings).toHaveLength(1)
  expect(warnings[0]).toMatch(/spans were dropped.*ECONNREFUSED/)
  expect(warnings[0]).not.toContain(KEY)
})

test('an endpoint that never finishes its response delays a flush by less than 20 s', async () => {
  const { endpoint } = await receiver((_request, response) => {
    const drip = setInterval(() => void response.write(' '), 200)
    response.on('close', () => clearInterval(drip))
  })
  const { traces } = start({ endpoint })
  span()
  const begun = performance.now()
  await traces.flush()
  expect(performance.now() - begun).toBeLessThan(20_000)
})

test('unreadable headers drop the batch, with a warning that states the reason', async () => {
  const { endpoint, spans } = await receiver()
  const { traces, warnings } = start({ endpoint, headers: () => Promise.reject(new Error('secret s: has no text')) })
  span()
  await traces.flush()
  expect(spans).toEqual([])
  expect(warnings.join()).toContain('secret s: has no text')
})
