import { GetMetricDataCommand } from '@aws-sdk/client-cloudwatch'
import type { CloudWatchClient } from '@aws-sdk/client-cloudwatch'

export interface MetricQuery {
  readonly namespace: string
  readonly name: string
  readonly dimensions: Readonly<Record<string, string>>
}

/** Returns a metric's maximum per minute from `since` until `now` (milliseconds since 1970), newest first. */
export async function metricMaxima(
  client: CloudWatchClient,
  { namespace, name, dimensions }: MetricQuery,
  { since, now }: { readonly since: number; readonly now: number },
): Promise<readonly number[]> {
  const Metric = {
    Namespace: namespace,
    MetricName: name,
    Dimensions: Object.entries(dimensions).map(([Name, Value]) => ({ Name, Value })),
  }
  const { MetricDataResults: results = [] } = await client.send(
    new GetMetricDataCommand({
      StartTime: new Date(since),
      EndTime: new Date(now),
      ScanBy: 'TimestampDescending',
      MetricDataQueries: [{ Id: 'maxima', MetricStat: { Metric, Period: 60, Stat: 'Maximum' } }],
    }),
  )
  return results[0]?.Values ?? []
}
