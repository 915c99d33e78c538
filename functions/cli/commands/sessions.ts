import type { Client } from '../../client/client.ts'
import type { Queries } from '../../client/api-types.ts'
import { localTime, note, oneLine, print, printJson, table } from '../terminal.ts'
import { harmless } from '../../runtime/terminal-output.ts'

export type SessionsOptions = Omit<Queries['listSessions'], 'after'> & { readonly json?: boolean }

/** Lists sessions, the one that was used last first. */
export async function listSessions(client: Client, { json = false, ...query }: SessionsOptions): Promise<void> {
  const { data, has_more } = await client.listSessions(query)
  if (json) return data.forEach(printJson)
  const isNarrowed = Object.keys(query).some((name) => name !== 'limit')
  if (data.length === 0)
    return note(
      isNarrowed
        ? 'No session fits. All of them: tooltrail sessions\n'
        : 'There are no sessions. Begin one: tooltrail chat\n',
    )
  const rows = data.map((session) => [
    harmless(session.id),
    session.run?.status ?? 'new',
    localTime(session.updated_at),
    harmless(session.agent),
    harmless(session.owner ?? '-'),
    session.usage.total_tokens === null ? '-' : `${session.usage.total_tokens} tokens`,
    oneLine(session.title ?? '', 60),
  ])
  print(table([['SESSION', 'LAST RUN', 'USED', 'AGENT', 'OWNER', 'USAGE', 'TITLE'], ...rows]))
  if (has_more) note(`There are more: --limit ${data.length * 2}\n`)
}
