import { CfnBudget } from 'aws-cdk-lib/aws-budgets'
import { Construct } from 'constructs'

export interface MonthlyBudgetProps {
  /** Dollars a month. */
  readonly limit: number
  readonly email: string
}

/**
 * Writes to an address when the account's costs of a month come near to a limit, or will exceed it. Of the whole account: costs can
 * be told apart by tags only after somebody has activated these by hand, and a budget that sees nothing never warns. It ends no
 * work.
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
