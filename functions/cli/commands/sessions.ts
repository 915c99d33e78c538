import type { Client } from '../../client/client.ts'
import type { Queries, Session } from '../../client/api-types.ts'
import { metadataQuery, type PlaceOptions } from '../input.ts'
import { readPages } from '../pages.ts'
import { localTime, note, oneLine, print, printJson, table } from '../terminal.ts'
import { harmless } from '../../runtime/terminal-output.ts'

export interface SessionsOptions extends PlaceOptions, Omit<Queries['listSessions'], 'after' | 'limit' | 'run_status'> {
  readonly runStatus?: Queries['listSessions']['run_status']
  readonly limit: number
  /** The id of the last session on the previous page. */
  readonly after?: string
  readonly json?: boolean
}

const PAGE = 100
const TITLE_WIDTH = 60

/** Lists sessions by their newest message, newest first. */
export async function listSessions(
  client: Client,
  { json = false, limit, after, folder, source, branch, runStatus, ...filters }: SessionsOptions,
  signal: AbortSignal,
): Promise<void> {
  const query = { ...filters, ...metadataQuery({ folder, source, branch }), run_status: runStatus }
  const sessions: Session[] = []
  let [shown, last] = [0, '']
  const read = (place: { readonly limit: number; readonly after?: string }) =>
    client.listSessions({ ...query, ...place }, { signal })
  const idOf = ({ id }: Session): string => id
  const hasMore = await readPages({ limit, after, idOf, pageSize: PAGE, signal, read }, (session) => {
    shown++
    last = session.id
    if (json) printJson(session)
    else sessions.push(session)
  })
  const isNarrowed = after !== undefined || Object.values(query).some((value) => value !== undefined)
  if (shown === 0 && !json)
    return note(
      isNarrowed
        ? 'No session fits. All of them: tooltrail sessions\n'
        : 'There are no sessions. Begin one: tooltrail chat\n',
    )
  if (!json)
    print(table([['TITLE', 'LAST MESSAGE', 'LAST RUN', 'AGENT', 'OWNER', 'USAGE', 'SESSION'], ...sessions.map(rowOf)]))
  if (hasMore) note(`There are more: --after ${harmless(last)}\n`)
}

const rowOf = (session: Session): string[] => [
  oneLine(session.title ?? '-', TITLE_WIDTH),
  session.last_message_at === null ? '-' : localTime(session.last_message_at),
  session.run?.status ?? 'new',
  harmless(session.agent),
  harmless(session.owner ?? '-'),
  session.usage.total_tokens === null ? '-' : `${session.usage.total_tokens} tokens`,
  harmless(session.id),
]
