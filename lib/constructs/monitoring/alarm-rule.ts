import { Duration } from 'aws-cdk-lib'
import { Metric, Stats } from 'aws-cdk-lib/aws-cloudwatch'
import type { IMetric } from 'aws-cdk-lib/aws-cloudwatch'

export interface AlarmRule {
  /** `docs/operations/alarms.md` explains it by this name. */
  readonly name: string
  /** One value per period. */
  readonly metric: IMetric
  /** The alarm goes off at this value. */
  readonly at: number
  /**
   * Whether it goes off at this value and above, or at this value and below.
   * @default 'above'
   */
  readonly side?: 'above' | 'below'
  /** How many of the last values (`of`) must be beyond it. */
  readonly times: number
  /**
   * How many values are considered. Values that arrive late, stamped with when they began, must still be among them. Where `FILL` stands
   * in for missing values, the latest may never be a real one (docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/using-metric-math.html).
   * @default - as many as must be beyond it: all in a row
   */
  readonly of?: number
  /**
   * Whether it warns of silence. Otherwise it is fine to have no request, no hint and no record.
   * @default false
   */
  readonly silent?: boolean
  /** What it means, and what to do. */
  readonly description: string
}

export const MINUTE = Duration.minutes(1)
/** The maximum of a minute. */
export const most = { period: MINUTE, statistic: Stats.MAXIMUM }
/** The sum of a minute. */
export const sum = { period: MINUTE, statistic: Stats.SUM }

type FailureName = 'FailedHints' | 'FailedBatches' | 'FailedDeliveries' | 'LateDeliveries' | 'MissingSecrets'

/** What `functions/runtime/lambda/metrics.ts` counts because Lambda sees no failure. */
export const failed = (what: FailureName, environment: string, over: Duration): Metric =>
  new Metric({
    period: over,
    statistic: Stats.SUM,
    namespace: 'Tooltrail',
    metricName: what,
    dimensionsMap: { service: 'tooltrail', environment },
  })
