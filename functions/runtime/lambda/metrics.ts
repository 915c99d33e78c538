import { Metrics, MetricUnit } from '@aws-lambda-powertools/metrics'
import type { Agent } from '../../domain/agent.ts'
import type { RunEvent } from '../../domain/events.ts'

/** CloudWatch namespace. Every metric has the dimension `environment`; metrics of runs also have `agent`. */
const NAMESPACE = 'Tooltrail'
/** Dimension value for agents that are no longer configured. It keeps the number of dimension values bounded. */
const OTHER_AGENT = 'other'

export interface RunMetrics {
  /** Counts an event of a run. */
  observe(event: RunEvent): void
  /** Writes the counts since the last flush, one line per agent. */
  flush(): void
}

/**
 * Counts turns, rounds, tool errors and tokens per agent from the runs' events. Writes them as lines that CloudWatch
 * reads (EMF).
 */
export function createRunMetrics(environment: string, agents: ReadonlyMap<string, Agent>): RunMetrics {
  const byAgent = new Map<string, Metrics>()
  const of = (agent: string): Metrics => {
    const name = agents.has(agent) ? agent : OTHER_AGENT
    const known = byAgent.get(name) ?? createMetrics({ environment, agent: name })
    byAgent.set(name, known)
    return known
  }
  return {
    observe(event) {
      switch (event.type) {
        case 'run.completed':
        case 'run.failed':
        case 'run.cancelled':
          of(event.run.agent).addMetric('Turns', MetricUnit.Count, 1)
          if (event.type === 'run.failed') of(event.run.agent).addMetric('FailedTurns', MetricUnit.Count, 1)
          return
        case 'message.completed': {
          const { agent, usage } = event.message
          of(agent).addMetric('Rounds', MetricUnit.Count, 1)
          of(agent).addMetric('InputTokens', MetricUnit.Count, usage?.inputTokens ?? 0)
          of(agent).addMetric('OutputTokens', MetricUnit.Count, usage?.outputTokens ?? 0)
          return
        }
        case 'tool_call.completed':
          if (event.message.status === 'error') of(event.message.agent).addMetric('ToolErrors', MetricUnit.Count, 1)
          return
        default:
          return
      }
    },
    flush() {
      for (const metrics of byAgent.values()) if (metrics.hasStoredMetrics()) metrics.publishStoredMetrics()
    },
  }
}

/** Writes the age of a batch's oldest record, in milliseconds, one line per batch. */
export function createLagMetric(environment: string): (milliseconds: number) => void {
  const metrics = createMetrics({ environment })
  return (milliseconds) => {
    metrics.addMetric('IndexLag', MetricUnit.Milliseconds, milliseconds)
    metrics.publishStoredMetrics()
  }
}

/** Failures that Lambda does not see, because the invocation that reports them succeeds. */
type FailureName = 'FailedHints' | 'FailedBatches' | 'FailedDeliveries' | 'LateDeliveries' | 'MissingSecrets'

/** Counts failures; writes nothing for a count of zero. */
export function createFailureMetric(environment: string, name: FailureName): (count?: number) => void {
  const metrics = createMetrics({ environment })
  return (count = 1) => {
    if (count === 0) return
    metrics.addMetric(name, MetricUnit.Count, count)
    metrics.publishStoredMetrics()
  }
}

const createMetrics = (defaultDimensions: Record<string, string>): Metrics =>
  new Metrics({ namespace: NAMESPACE, serviceName: 'tooltrail', defaultDimensions })
