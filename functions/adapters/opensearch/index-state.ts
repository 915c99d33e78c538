import { DescribeDomainHealthCommand } from '@aws-sdk/client-opensearch'
import type { OpenSearchClient } from '@aws-sdk/client-opensearch'
import { currentPrefix } from './history-aliases.ts'
import { ask, createSend, OpenSearchError } from './requests.ts'
import type { SearchClient } from './requests.ts'

/** Returns the number of documents behind an alias; undefined before anything was indexed. */
export async function countDocuments(client: SearchClient, alias: string): Promise<number | undefined> {
  const request = {
    method: 'POST',
    path: `/${alias}/_search`,
    body: { size: 0, track_total_hits: true, query: { match_all: {} } },
  } as const
  const response = await ask<{ readonly hits?: { readonly total: { readonly value: number } } }>(
    createSend(client),
    request,
    [404],
  )
  return response.hits?.total.value
}

/** Whether all indexes behind an alias are of earlier versions; false before anything was indexed. */
export async function isIndexOutdated(client: SearchClient, alias: string): Promise<boolean> {
  const request = { method: 'GET', path: `/_alias/${alias}` } as const
  const response = await createSend(client)(request)
  if (response.status === 404) return false
  if (response.status >= 300) throw new OpenSearchError(request, response)
  return !Object.keys(response.body as object).some((index) => index.startsWith(currentPrefix(alias)))
}

/** Describes the state of a managed domain: its status, nodes and shards. */
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
