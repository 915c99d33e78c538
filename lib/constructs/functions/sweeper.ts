import { Duration } from 'aws-cdk-lib'
import { Rule, Schedule } from 'aws-cdk-lib/aws-events'
import { LambdaFunction } from 'aws-cdk-lib/aws-events-targets'
import type { IFunction } from 'aws-cdk-lib/aws-lambda'
import { Construct } from 'constructs'

/** Interval of sweeps. A lost hint is delayed by at most this time. */
export const SWEEP_EVERY = Duration.minutes(1)

/** Runs the sweeper on a schedule. It finds the work of lost hints and of crashed workers. */
export class SweepSchedule extends Construct {
  constructor(scope: Construct, id: string, { sweeper }: { readonly sweeper: IFunction }) {
    super(scope, id)
    new Rule(this, 'Rule', {
      description: 'Finds sessions whose hint was lost or whose worker died',
      schedule: Schedule.rate(SWEEP_EVERY),
      // These settings apply only to the delivery of the event to Lambda. The function's own settings control Lambda's
      // retries of failed invocations.
      targets: [new LambdaFunction(sweeper, { retryAttempts: 0, maxEventAge: SWEEP_EVERY })],
    })
  }
}
