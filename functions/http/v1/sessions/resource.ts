import type { z } from '@hono/zod-openapi'
import type { Run } from '../../../domain/runs/run.ts'
import type { Session, SessionKey } from '../../../domain/session.ts'
import type { LogReader } from '../../../ports/log-reader.ts'
import type { DeletionState } from '../../../ports/session-deletion.ts'
import type { DeletionSchema, SessionSchema } from './schema.ts'
import { definedFields } from '../../../domain/defined-fields.ts'
import { timeText } from '../time-text.ts'
import { summaryResource } from '../context/resource.ts'
import { usageResource } from '../usage/resource.ts'
import { findRun } from '../runs/resource.ts'

type SessionResource = z.input<typeof SessionSchema>
type DeletionResource = z.input<typeof DeletionSchema>

/** A session as the API shows it. */
export async function sessionResource(reader: LogReader, session: Session): Promise<SessionResource> {
  const { totals } = session
  const { provider: _provider, ...usage } = usageResource(totals.usage)
  const byAgent = Object.entries(totals.byAgent).map(([agent, sum]) => [agent, usageResource(sum)] as const)
  return {
    object: 'session',
    id: session.session,
    agent: session.agent,
    owner: session.owner ?? null,
    ...definedFields({ user: session.user }),
    title: session.title ?? null,
    title_source: session.titleSource ?? null,
    ...definedFields({ instructions: session.instructions }),
    metadata: session.metadata,
    ...definedFields({ forked_from: forkResource(session.forkedFrom) }),
    created_at: timeText(session.createdAt),
    updated_at: timeText(session.updatedAt),
    first_message_at: timeOrNull(session.messages.firstAt),
    last_message_at: timeOrNull(session.messages.lastAt),
    message_count: session.messages.count,
    run: await latestRun(reader, session),
    ...definedFields({ summary: session.summary === undefined ? undefined : summaryResource(session.summary) }),
    usage: { ...usage, runs: totals.runs, rounds: totals.rounds, by_agent: Object.fromEntries(byAgent) },
  }
}

const timeOrNull = (time: number | undefined): string | null => (time === undefined ? null : timeText(time))

const forkResource = (from: Session['forkedFrom']): SessionResource['forked_from'] =>
  from && { session_id: from.session, message_id: from.messageId }

/** The progress of a deletion. */
export function deletionResource(key: SessionKey, state: DeletionState): DeletionResource {
  return {
    object: 'deletion',
    id: key.session,
    session_id: key.session,
    status: state.removed ? 'completed' : 'running',
    deleted: {
      messages: state.messages,
      runs: state.runs,
      outputs: state.outputs,
      documents: state.documents,
    },
  }
}

async function latestRun(reader: LogReader, session: Session): Promise<SessionResource['run']> {
  if (session.run === undefined) return null
  const { id, status } = session.run
  if (status !== 'merged') return { id, status }
  const run: Run | undefined = await findRun(reader, session, id)
  return run === undefined || run.status === 'merged' ? null : { id, status: run.status }
}
