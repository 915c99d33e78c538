import { CfnBudget } from 'aws-cdk-lib/aws-budgets'
import { Construct } from 'constructs'

export interface MonthlyBudgetProps {
  /** Limit per month in dollars. */
  readonly limit: number
  readonly email: string
}

/**
 * Sends an email when the account's monthly costs are near a limit, or will exceed it. The budget covers the whole
 * account: costs can be separated by tags only after these were activated by hand, and a budget without data never
 * warns. It stops no work.
 */
export class MonthlyBudget extends Construct {
  constructor(scope: Construct, id: string, { limit, email }: MonthlyBudgetProps) {
    super(scope, id)
    const warn = (notificationType: 'ACTUAL' | 'FORECASTED', threshold: number) => ({
      notification: { comparisonOperator: 'GREATER_THAN', notificationType, threshold, thresholdType: 'PERCENTAGE' },
      subscribers: [{ subscriptionType: 'EMAIL', address: email }],
    })
    new CfnBudget(this, 'Budget', {
      budget: { budgetType: 'COST', timeUnit: 'MONTHLY', budgetLimit: { amount: limit, unit: 'USD' } },
      notificationsWithSubscribers: [warn('ACTUAL', 80), warn('FORECASTED', 100)],
    })
  }
}
