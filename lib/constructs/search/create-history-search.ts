import type { Construct } from 'constructs'
import type { HistorySearch, HistorySearchProps, SearchSettings } from './history-search.ts'
import { SearchDomain } from './search-domain.ts'
import { ServerlessSearch } from './serverless-search.ts'

/** Creates the search that the settings select. */
export function createHistorySearch(
  scope: Construct,
  id: string,
  { search, ...props }: HistorySearchProps & { readonly search: SearchSettings },
): HistorySearch {
  return search.kind === 'serverless'
    ? new ServerlessSearch(scope, id, { ...props, ...search })
    : new SearchDomain(scope, id, { ...props, ...search })
}
