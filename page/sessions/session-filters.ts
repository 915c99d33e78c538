import type { SessionsQuery } from '../../functions/client/client.ts'
import type { Queries } from '../../functions/client/api-types.ts'

/** Filters of the list of sessions; an empty text filters nothing. */
export interface SessionFilters {
  /** Each must occur in the title or the first input, or begin a word of it. */
  readonly words: string
  readonly owner: string
  readonly agent: string
  readonly status: NonNullable<Queries['listSessions']['run_status']> | ''
  readonly folder: string
  readonly source: string
}

export const NO_FILTERS: SessionFilters = { words: '', owner: '', agent: '', status: '', folder: '', source: '' }

/** Number of filters beside the words. */
export const countFilters = ({ words: _, ...others }: SessionFilters): number =>
  Object.values(others).filter((value) => value !== '').length

/** Builds the API's query. Words without a letter or digit filter nothing: the API refuses them. */
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
