import { Duration } from 'aws-cdk-lib'
import { Rule, Schedule } from 'aws-cdk-lib/aws-events'
import { LambdaFunction } from 'aws-cdk-lib/aws-events-targets'
import type { IFunction } from 'aws-cdk-lib/aws-lambda'
import { Construct } from 'constructs'

/** Interval of sweeps, which is the maximum delay of a lost hint. */
export const SWEEP_EVERY = Duration.minutes(1)

/** Runs the sweeper on a schedule. It finds the work of lost hints and crashed workers. */
export class SweepSchedule extends Construct {
  constructor(scope: Construct, id: string, { sweeper }: { readonly sweeper: IFunction }) {
    super(scope, id)
    new Rule(this, 'Rule', {
      description: 'Finds sessions whose hint was lost or whose worker died',
      schedule: Schedule.rate(SWEEP_EVERY),
      // These settings apply to the delivery to Lambda. Retries of Lambda itself are a setting of the function.
      targets: [new LambdaFunction(sweeper, { retryAttempts: 0, maxEventAge: SWEEP_EVERY })],
    })
  }
}
