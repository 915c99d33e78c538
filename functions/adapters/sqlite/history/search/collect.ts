import type { ScoredEvent } from '../../../../search/ranking/score.ts'
import { snapshot } from '../../database.ts'
import type { Search } from './best.ts'
import type { Listing } from './listing.ts'
import { loadDocuments, type FoundDocument } from './rows.ts'
import { boundsOf, withinSession, withoutSessions } from './scope.ts'
import type { Step, Walk, WalkPlace } from './walk.ts'

/**
 * With grouping, a match excludes sessions that already have a hit, so that the index finds other sessions faster. This
 * is the maximum number of excluded sessions.
 */
const MAX_LEFT_OUT = 200

/** The hits to collect from a listing. */
export interface Wanted {
  readonly listing: Listing
  readonly walk: Walk
  readonly from: WalkPlace | undefined
  readonly limit: number
  /** Events to omit, because they are listed among the best events. */
  readonly taken: ReadonlySet<number>
  /** With grouping: sessions to omit, because their hit is listed among the best events. */
  readonly sessions: readonly string[]
}

export interface Collected {
  readonly events: readonly ScoredEvent<FoundDocument>[]
  /** Position where the next page continues; undefined at the end of the walk. */
  readonly next: { readonly after: WalkPlace | undefined } | undefined
}

/** Collects the next hits of a walk; with grouping, at most one per session. */
export async function collect(search: Search, wanted: Wanted): Promise<Collected> {
  const { walk, listing, taken, limit } = wanted
  const { scope, filters, group } = search.query
  const bounds = boundsOf(scope, filters)
  const sessions = new Set(wanted.sessions)
  const leftOut = (): string[] => (group === undefined ? [] : [...sessions].slice(-MAX_LEFT_OUT))
  const steps = walk.steps(() => listing.expression(withoutSessions(bounds, scope.tenant, leftOut())), wanted.from)
  const events: ScoredEvent<FoundDocument>[] = []
  let after = wanted.from
  for (;;) {
    const next = steps.next()
    if (next.done === true) return { events, next: next.value ? undefined : { after } }
    const step = next.value
    const [document] = step.documents
    if (document !== undefined && !taken.has(document.event) && !isGrouped(document.hit.session)) {
      if (group !== undefined && (await isShownBefore(search, wanted, step, document.hit.session)))
        sessions.add(document.hit.session)
      else {
        if (events.length === limit) return { events, next: { after } }
        const judged = await listing.judge(step.documents)
        if (judged !== undefined) events.push(judged)
        if (judged !== undefined) sessions.add(document.hit.session)
      }
    }
    after = step
  }

  function isGrouped(session: string): boolean {
    return group !== undefined && sessions.has(session)
  }
}

/** Whether an earlier page has a hit in the session: a hit that the walk visits before this step. */
async function isShownBefore(search: Search, { walk, listing }: Wanted, step: Step, session: string): Promise<boolean> {
  const { scope, filters } = search.query
  const expression = listing.expression(withinSession(boundsOf(scope, filters), scope.tenant, session))
  const loaded = snapshot(search.database, () => loadDocuments(search.database, walk.before(expression, step)))
  for (const documents of Map.groupBy(loaded, ({ event }) => event).values())
    if ((await listing.judge(documents)) !== undefined) return true
  return false
}
