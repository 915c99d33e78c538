import { DescribeDomainHealthCommand } from '@aws-sdk/client-opensearch'
import type { OpenSearchClient } from '@aws-sdk/client-opensearch'

/** The state of a managed domain in words: its status, nodes and shards. */
export async function domainHealth(
  client: OpenSearchClient,
  domain: string,
): Promise<{ green: boolean; text: string }> {
  const health = await client.send(new DescribeDomainHealthCommand({ DomainName: domain }))
  const { ClusterHealth: state = 'NotAvailable', DataNodeCount: nodes, TotalUnAssignedShards: unassigned } = health
  return {
    green: state === 'Green',
    text: `${state}, data nodes: ${nodes ?? '?'}, unassigned shards: ${unassigned ?? '?'}`,
  }
}
