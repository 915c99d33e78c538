import { Duration, Stack } from 'aws-cdk-lib'
import { Metric, Stats } from 'aws-cdk-lib/aws-cloudwatch'
import type { Construct } from 'constructs'
import { MINUTE, most, type AlarmRule } from './alarm-rule.ts'

const MIB_OF_GIB = 1_024

interface Domain {
  readonly name: string
  readonly nodes: number
  /** Size of each node's disk, in GiB. */
  readonly volume: number
}

/** Returns the alarms that AWS recommends for a domain. */
export function domainRules(scope: Construct, { name, nodes, volume }: Domain): AlarmRule[] {
  const metric = (metricName: string, { statistic = Stats.MAXIMUM, period = MINUTE } = {}): Metric => {
    const dimensionsMap = { DomainName: name, ClientId: Stack.of(scope).account }
    return new Metric({ namespace: 'AWS/ES', metricName, dimensionsMap, statistic, period })
  }
  const rebuilt = 'The index can be rebuilt from the log at any time: npm run rebuild.'
  return [
    {
      name: 'search-red',
      metric: metric('ClusterStatus.red'),
      at: 1,
      times: 1,
      description: `Parts of the index are on no node of the search domain: searches fail or are incomplete. Look at its free storage and its nodes. ${rebuilt}`,
    },
    {
      name: 'search-storage',
      metric: metric('FreeStorageSpace', { statistic: Stats.MINIMUM }),
      at: (volume * MIB_OF_GIB) / 4,
      side: 'below',
      times: 1,
      description:
        'A node of the search domain has less than a quarter of its storage left; without any, it takes no more writes. ' +
        'Make its volumes larger: `search.volume` in lib/environments.ts.',
    },
    {
      name: 'search-writes-blocked',
      metric: metric('ClusterIndexWritesBlocked', { period: Duration.minutes(5) }),
      at: 1,
      times: 1,
      description:
        'The search domain takes no writes, because it lacks storage or memory: new messages are not found. Look at search-storage ' +
        'and search-memory.',
    },
    {
      name: 'search-memory',
      metric: metric('JVMMemoryPressure'),
      at: 95,
      times: 3,
      description:
        'The search domain has almost no memory left, and may refuse requests or lose nodes. Use larger instances: ' +
        '`search.instance` in lib/environments.ts.',
    },
    // A domain with a single node cannot have replicas, so its status is always yellow.
    ...(nodes === 1
      ? []
      : [
          {
            name: 'search-yellow',
            metric: metric('ClusterStatus.yellow'),
            at: 1,
            times: 60,
            description:
              'Copies of the index have been missing in the search domain for an hour: the next node that fails takes parts of the ' +
              `index with it. Look at its nodes. ${rebuilt}`,
          },
        ]),
  ]
}

interface Group {
  readonly id: string
  readonly name: string
  readonly maxCapacity: number
}

/** Returns the alarms of a serverless collection, which scales automatically up to its maximum. */
export const serverlessRules = (scope: Construct, { id, name, maxCapacity }: Group): AlarmRule[] =>
  (['Search', 'Indexing'] as const).map((work) => ({
    name: `${work.toLowerCase()}-capacity`,
    metric: new Metric({
      ...most,
      namespace: 'AWS/AOSS',
      metricName: `${work}OCU`,
      dimensionsMap: { ClientId: Stack.of(scope).account, CollectionGroupId: id, CollectionGroupName: name },
    }),
    at: maxCapacity,
    times: 15,
    description:
      `For 15 minutes the search collection has used all the capacity for ${work.toLowerCase()} that it may use: it responds late, or refuses requests. Raise ` +
      '`search.maxCapacity` in lib/environments.ts, or find out who sends so many requests.',
  }))
