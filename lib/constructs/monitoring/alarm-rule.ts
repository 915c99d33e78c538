import { Duration } from 'aws-cdk-lib'
import { Metric, Stats } from 'aws-cdk-lib/aws-cloudwatch'
import type { IMetric } from 'aws-cdk-lib/aws-cloudwatch'

export interface AlarmRule {
  /** Name under which `docs/operations/alarms.md` explains the alarm. */
  readonly name: string
  /** One value per period. */
  readonly metric: IMetric
  /** Threshold of the alarm. */
  readonly at: number
  /**
   * Whether the alarm is raised at the threshold and above, or at the threshold and below.
   * @default 'above'
   */
  readonly side?: 'above' | 'below'
  /** How many of the last `of` values must exceed the threshold. */
  readonly times: number
  /**
   * Number of values that are considered. Late values, stamped with their start time, must still be among them. If
   * `FILL` replaces missing values, the latest value may never be a real one
   * (docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/using-metric-math.html).
   * @default - equal to `times`: all in a row
   */
  readonly of?: number
  /**
   * Whether the alarm is raised if data are missing. Otherwise, the absence of requests, hints and records is normal.
   * @default false
   */
  readonly silent?: boolean
  /** Meaning of the alarm, and the next step. */
  readonly description: string
}

export const MINUTE = Duration.minutes(1)
/** Takes the maximum of each minute. */
export const most = { period: MINUTE, statistic: Stats.MAXIMUM }
/** Takes the sum of each minute. */
export const sum = { period: MINUTE, statistic: Stats.SUM }

type FailureName = 'FailedHints' | 'FailedBatches' | 'FailedDeliveries' | 'LateDeliveries' | 'MissingSecrets'

/** Metric of failures that Lambda does not see; `functions/runtime/lambda/metrics.ts` counts them. */
export const failed = (what: FailureName, environment: string, over: Duration): Metric =>
  new Metric({
    period: over,
    statistic: Stats.SUM,
    namespace: 'Tooltrail',
    metricName: what,
    dimensionsMap: { service: 'tooltrail', environment },
  })
