import type { HistoryFilters, HistoryHit } from '../domain/history.ts'

type Fields = Pick<HistoryHit, 'role' | 'toolName' | 'status' | 'session' | 'owner' | 'agent' | 'time' | 'runId'>

/**
 * Whether an entry fits the filters. Used for entries that the index returned without filtering. `Fields` has no
 * ratings, so no entry fits a filter by rating. The caller compares the metadata.
 */
export function fitsFilters(entry: Fields, filters: HistoryFilters): boolean {
  const { role, tool, status, session, owner, agent, feedback, since, until, notRun, sessions } = filters
  return (
    feedback === undefined &&
    (role ?? entry.role) === entry.role &&
    (tool ?? entry.toolName) === entry.toolName &&
    (status ?? entry.status) === entry.status &&
    (session ?? entry.session) === entry.session &&
    (owner ?? entry.owner) === entry.owner &&
    (agent ?? entry.agent) === entry.agent &&
    (since ?? entry.time) <= entry.time &&
    (until ?? entry.time) >= entry.time &&
    notRun !== entry.runId &&
    (sessions?.includes(entry.session) ?? true)
  )
}
