import { Stack } from 'aws-cdk-lib'
import type { StackProps } from 'aws-cdk-lib'
import type { Construct } from 'constructs'
import type { AppStack } from './app-stack.ts'
import { Alarms } from './constructs/monitoring/alarms.ts'
import { MonthlyBudget } from './constructs/budget.ts'
import { StatusDashboard } from './constructs/monitoring/dashboard.ts'
import type { Environment } from './environments.ts'

export interface MonitoringStackProps extends StackProps {
  readonly environment: Environment
  readonly app: AppStack
}

/** The stack with alarms and a dashboard. */
export class MonitoringStack extends Stack {
  constructor(scope: Construct, id: string, { environment, app, ...props }: MonitoringStackProps) {
    super(scope, id, props)
    const { tooltrail } = app
    const { monthlyBudget: limit, alarmEmail: email } = environment
    if (limit !== undefined && email !== undefined) new MonthlyBudget(this, 'Budget', { limit, email })
    const alarms = new Alarms(this, 'Alarms', { tooltrail, email })
    new StatusDashboard(this, 'Dashboard', { tooltrail, alarms })
  }
}
