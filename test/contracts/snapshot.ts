import { definedFields } from '../../functions/domain/defined-fields.ts'
import type { Message } from '../../functions/domain/messages/message.ts'
import type { Replacement } from '../../functions/domain/runs/replacement.ts'
import type { Run } from '../../functions/domain/runs/run.ts'
import type { Session, SessionHeader, SessionKey } from '../../functions/domain/session.ts'
import type { LogReader } from '../../functions/ports/log-reader.ts'
import type { SessionPorts } from './stores.ts'

/** Everything that the ports return for one session. */
export interface Snapshot {
  readonly header: SessionHeader | undefined
  readonly session: Session | undefined
  /** Ids ascending. */
  readonly messages: readonly Message[]
  /** Ids ascending. */
  readonly runs: readonly Run[]
  readonly replacements: readonly Replacement[]
}

const PAGE = 1000

/** Reads all messages of a session page by page, and returns them oldest first. */
export async function allMessages(reader: LogReader, key: SessionKey, limit = PAGE): Promise<Message[]> {
  const found: Message[] = []
  for (;;) {
    const after = found.at(-1)?.id
    const page = await reader.messages(key, { order: 'ascending', limit, ...definedFields({ after }) })
    found.push(...page.messages)
    if (!page.more) return found
  }
}

/** Reads all runs of a session, and returns them oldest first. */
export async function allRuns(reader: LogReader, key: SessionKey, limit = PAGE): Promise<Run[]> {
  const found: Run[] = []
  for (;;) {
    const before = found.at(-1)?.id
    const page = await reader.runs(key, { limit, ...definedFields({ before }) })
    found.push(...page.runs)
    if (!page.more) return found.toReversed()
  }
}

/** Reads a whole session. The result is consistent only if no process writes during the read. */
export async function snapshot(ports: SessionPorts, key: SessionKey): Promise<Snapshot> {
  return {
    header: await ports.lease.readHeader(key),
    session: await ports.sessions.read(key),
    messages: await allMessages(ports.reader, key),
    runs: await allRuns(ports.reader, key),
    replacements: await ports.reader.replacements(key),
  }
}
