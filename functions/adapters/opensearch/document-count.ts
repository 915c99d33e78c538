import { ask, createSend } from './requests.ts'
import type { SearchClient } from './requests.ts'

/** How many documents are behind an alias; undefined before anything was indexed. */
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
