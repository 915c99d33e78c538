import { CfnWebACL, CfnWebACLAssociation } from 'aws-cdk-lib/aws-wafv2'
import { Construct } from 'constructs'

export interface FirewallProps {
  /** ARN of the API's stage. */
  readonly resourceArn: string
  /** Limit of requests per address in 5 minutes. */
  readonly requestsPerAddress: number
  /**
   * Limit of requests per API key in 5 minutes.
   * @default - no limit per key, only per address
   */
  readonly requestsPerKey?: number | undefined
  /** Prefix of the firewall's metrics. Only this prefix distinguishes firewalls in CloudWatch. */
  readonly name: string
}

/**
 * Blocks floods, and addresses with a bad reputation. AWS's rules for bodies are omitted on purpose: people talk with
 * agents about SQL, shells and scripts, and those rules would block such messages.
 */
export class Firewall extends Construct {
  constructor(scope: Construct, id: string, { resourceArn, requestsPerAddress, requestsPerKey, name }: FirewallProps) {
    super(scope, id)
    const visible = (metricName: string) => ({
      cloudWatchMetricsEnabled: true,
      metricName: `${name}-${metricName}`,
      sampledRequestsEnabled: true,
    })
    const acl = new CfnWebACL(this, 'Acl', {
      scope: 'REGIONAL',
      defaultAction: { allow: {} },
      visibilityConfig: visible('firewall'),
      rules: [
        {
          name: 'one-address',
          priority: 0,
          action: { block: { customResponse: { responseCode: 429 } } },
          statement: { rateBasedStatement: { aggregateKeyType: 'IP', limit: requestsPerAddress } },
          visibilityConfig: visible('one-address'),
        },
        ...(requestsPerKey === undefined ? [] : [{ ...oneKey(requestsPerKey), visibilityConfig: visible('one-key') }]),
        {
          name: 'bad-repute',
          priority: 2,
          overrideAction: { none: {} },
          statement: {
            managedRuleGroupStatement: { vendorName: 'AWS', name: 'AWSManagedRulesAmazonIpReputationList' },
          },
          visibilityConfig: visible('bad-repute'),
        },
      ],
    })
    new CfnWebACLAssociation(this, 'Association', { resourceArn, webAclArn: acl.attrArn })
  }
}

/**
 * Counts requests by API key: by the value of the key's header. WAF does not store this value. Requests without the
 * header are counted by address only.
 */
const oneKey = (limit: number) => ({
  name: 'one-key',
  priority: 1,
  action: { block: { customResponse: { responseCode: 429 } } },
  statement: {
    rateBasedStatement: {
      aggregateKeyType: 'CUSTOM_KEYS',
      limit,
      customKeys: [{ header: { name: 'authorization', textTransformations: [{ priority: 0, type: 'NONE' }] } }],
    },
  },
})
