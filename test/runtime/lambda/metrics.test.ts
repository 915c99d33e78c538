import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { DEFAULT_POLICIES } from '../../../functions/domain/agent.ts'
import type { Agent } from '../../../functions/domain/agent.ts'
import type { RunEvent } from '../../../functions/domain/events.ts'
import type { AssistantMessage, ToolMessage } from '../../../functions/domain/messages/message.ts'
import type { Run } from '../../../functions/domain/runs/run.ts'
import { NO_USAGE } from '../../../functions/domain/usage/usage.ts'
import { createLagMetric, createRunMetrics } from '../../../functions/runtime/lambda/metrics.ts'

interface Line {
  readonly [name: string]: unknown
  readonly _aws: {
    readonly CloudWatchMetrics: readonly { readonly Namespace: string; readonly Dimensions: string[][] }[]
  }
}

let lines: Line[]
beforeEach(() => {
  lines = []
  vi.stubEnv('POWERTOOLS_DEV', 'true')
  vi.stubEnv('POWERTOOLS_METRICS_DISABLED', 'false')
  vi.spyOn(console, 'log').mockImplementation((line: string) => void lines.push(JSON.parse(line) as Line))
})
afterEach(() => {
  vi.unstubAllEnvs()
  vi.restoreAllMocks()
})

const agent: Agent = { name: 'default', model: 'a/b', modelOptions: {}, tools: [], policies: DEFAULT_POLICIES }
const agents = new Map([['default', agent]])

const ended = (type: 'run.completed' | 'run.failed' | 'run.cancelled', name = 'default'): RunEvent => ({
  type,
  id: `x:${type}`,
  runId: 'x',
  run: { id: 'x', agent: name } as Run,
})
const round = (usage: AssistantMessage['usage']): RunEvent => ({
  type: 'message.completed',
  id: 'x:message.completed',
  runId: 'x',
  message: {
    role: 'assistant',
    agent: 'default',
    parts: [{ type: 'text', text: 'private' }],
    usage,
  } as unknown as AssistantMessage,
})
const call = (status: ToolMessage['status']): RunEvent => ({
  type: 'tool_call.completed',
  id: 'x:tool_call.completed',
  runId: 'x',
  message: { role: 'tool', agent: 'default', status } as ToolMessage,
})

test('turns, rounds, tool errors and tokens are counted by environment and agent', () => {
  const metrics = createRunMetrics('dev', agents)
  const usage = { ...NO_USAGE, inputTokens: 100, outputTokens: 20 }
  for (const event of [round(usage), call('error'), call('completed'), round(usage), ended('run.completed')])
    metrics.observe(event)
  metrics.observe(ended('run.failed'))
  metrics.flush()
  expect(lines).toHaveLength(1)
  expect(lines[0]).toMatchObject({
    environment: 'dev',
    agent: 'default',
    Turns: [1, 1],
    FailedTurns: 1,
    Rounds: [1, 1],
    ToolErrors: 1,
    InputTokens: [100, 100],
    OutputTokens: [20, 20],
  })
  const [directive] = lines[0]?._aws.CloudWatchMetrics ?? []
  expect(directive?.Namespace).toBe('Tooltrail')
  expect(directive?.Dimensions).toEqual([['service', 'environment', 'agent']])
  expect(JSON.stringify(lines)).not.toContain('private')
})

test('counted metrics are written once, and nothing is written without counts', () => {
  const metrics = createRunMetrics('dev', agents)
  metrics.flush()
  metrics.observe(ended('run.cancelled'))
  metrics.flush()
  metrics.flush()
  expect(lines).toHaveLength(1)
})

test('agents that are not configured share one metric name, so that dimensions are bounded', () => {
  const metrics = createRunMetrics('dev', agents)
  for (let count = 0; count < 50; count++) metrics.observe(ended('run.completed', `gone-${count}`))
  metrics.flush()
  expect(lines.map(({ agent: name }) => name)).toEqual(['other'])
})

test('the lag of the index is emitted in milliseconds', () => {
  createLagMetric('dev')(1_234)
  expect(lines[0]).toMatchObject({ environment: 'dev', IndexLag: 1_234 })
  expect(lines[0]?._aws.CloudWatchMetrics[0]?.Dimensions).toEqual([['service', 'environment']])
})
