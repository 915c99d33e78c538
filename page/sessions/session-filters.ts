import type { SessionsQuery } from '../../functions/client/client.ts'
import type { Queries } from '../../functions/client/api-types.ts'

/** Filters of the list of sessions; an empty text is no filter. */
export interface SessionFilters {
  /** Words that must all occur in the title or the first input, as whole words or as prefixes. */
  readonly words: string
  readonly owner: string
  readonly agent: string
  readonly status: NonNullable<Queries['listSessions']['run_status']> | ''
  readonly folder: string
  readonly source: string
}

export const NO_FILTERS: SessionFilters = { words: '', owner: '', agent: '', status: '', folder: '', source: '' }

/** Returns the number of filters other than the words. */
export const countFilters = ({ words: _, ...others }: SessionFilters): number =>
  Object.values(others).filter((value) => value !== '').length

/** Builds the API's query. Words without a letter or digit are omitted, because the API rejects them. */
export function buildQuery(filters: SessionFilters, limit: number, after: string | undefined): SessionsQuery {
  const { words, owner, agent, status, folder, source } = filters
  return {
    limit,
    ...(after === undefined ? {} : { after }),
    ...(/[\p{L}\p{N}]/u.test(words) ? { q: words.trim() } : {}),
    ...(owner === '' ? {} : { owner }),
    ...(agent === '' ? {} : { agent }),
    ...(status === '' ? {} : { run_status: status }),
    ...(folder === '' ? {} : { 'metadata.folder': folder }),
    ...(source === '' ? {} : { 'metadata.source': source }),
  }
}
