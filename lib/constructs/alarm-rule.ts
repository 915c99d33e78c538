import { Duration } from 'aws-cdk-lib'
import { Stats } from 'aws-cdk-lib/aws-cloudwatch'
import type { IMetric } from 'aws-cdk-lib/aws-cloudwatch'

export interface AlarmRule {
  /** `docs/operations.md` explains it by this name. */
  readonly name: string
  /** One value a period. */
  readonly metric: IMetric
  /** The alarm goes off at this value. */
  readonly at: number
  /**
   * Whether it goes off at this value and above, or at this value and below.
   * @default 'above'
   */
  readonly side?: 'above' | 'below'
  /** So many values of the last ones (`of`) must be there. */
  readonly times: number
  /**
   * How many values are looked at. What is told late, for it is stamped when it began, must still be among them.
   * @default - as many as there must be: all in a row
   */
  readonly of?: number
  /**
   * Whether silence is what it warns of. Else no request, no hint and no record are nothing wrong.
   * @default false
   */
  readonly silent?: boolean
  /** What it means, and what to do. */
  readonly description: string
}

export const MINUTE = Duration.minutes(1)
/** The most that a minute had. */
export const most = { period: MINUTE, statistic: Stats.MAXIMUM }
/** All of a minute together. */
export const sum = { period: MINUTE, statistic: Stats.SUM }
