import { Duration } from 'aws-cdk-lib'
import { Metric, Stats } from 'aws-cdk-lib/aws-cloudwatch'
import type { IMetric } from 'aws-cdk-lib/aws-cloudwatch'

export interface AlarmRule {
  /** Name under which `docs/operations/alarms.md` explains the alarm. */
  readonly name: string
  /** A metric with one value per period. */
  readonly metric: IMetric
  /** Threshold of the alarm. */
  readonly at: number
  /**
   * Whether the alarm is raised at the threshold and above, or at the threshold and below.
   * @default 'above'
   */
  readonly side?: 'above' | 'below'
  /** The alarm is raised if this many of the last `of` values reach the threshold. */
  readonly times: number
  /**
   * Number of latest values to consider. A value that arrives late counts at the time at which its work started, so
   * this number must be high enough to include late values. If `FILL` replaces missing values, the latest value may
   * always be a filled-in value (docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/using-metric-math.html).
   * @default - equal to `times`, so that the values must be consecutive
   */
  readonly of?: number
  /**
   * Whether missing data raise the alarm. By default they do not, because times without requests, hints and records are
   * normal.
   * @default false
   */
  readonly silent?: boolean
  /** Meaning of the alarm, and the next step. */
  readonly description: string
}

export const MINUTE = Duration.minutes(1)
/** Options of a metric: the maximum of each minute. */
export const most = { period: MINUTE, statistic: Stats.MAXIMUM }
/** Options of a metric: the sum of each minute. */
export const sum = { period: MINUTE, statistic: Stats.SUM }

type FailureName = 'FailedHints' | 'FailedBatches' | 'FailedDeliveries' | 'LateDeliveries' | 'MissingSecrets'

/** Returns the metric of failures that Lambda does not see. `functions/runtime/lambda/metrics.ts` counts them. */
export const failed = (what: FailureName, environment: string, over: Duration): Metric =>
  new Metric({
    period: over,
    statistic: Stats.SUM,
    namespace: 'Tooltrail',
    metricName: what,
    dimensionsMap: { service: 'tooltrail', environment },
  })
