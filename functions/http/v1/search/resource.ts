import type { z } from '@hono/zod-openapi'
import { HISTORY_LABELS } from '../../../domain/history.ts'
import type { HistoryEntry, Understood } from '../../../domain/history.ts'
import { pointerTo } from '../../../domain/messages/message.ts'
import { definedFields } from '../../../domain/defined-fields.ts'
import { statusResource } from '../messages/resource.ts'
import type { SearchHitSchema, SearchPageSchema } from './schema.ts'
import { timeText } from '../time-text.ts'

/** A search hit as the API shows it. */
export function searchHitResource(entry: HistoryEntry): z.input<typeof SearchHitSchema> {
  const isToolEvent = entry.role === 'tool_call' || entry.role === 'tool_result'
  return {
    object: 'search_hit',
    session_id: entry.session,
    session_title: entry.sessionTitle ?? null,
    ...definedFields({ folder: entry.folder }),
    message_id: entry.messageId,
    run_id: entry.runId,
    role: entry.role,
    label: HISTORY_LABELS[entry.role],
    ...definedFields({
      tool_name: entry.toolName,
      tool_call_id: entry.toolCallId,
      status: entry.status === undefined ? undefined : statusResource(entry.status),
      origin: entry.origin,
      pointer: isToolEvent ? pointerTo(entry.messageId) : undefined,
    }),
    ...definedFields({ superseded_by: entry.supersededBy }),
    agent: entry.agent,
    ...definedFields({ owner: entry.owner }),
    created_at: timeText(entry.time),
    score: entry.score,
    snippet: entry.snippet,
    matched: entry.matched.map(({ term, where }) => ({ term, where: [...where] })),
    ...definedFields({ more: entry.more }),
    before: entry.before === undefined ? null : { label: entry.before.label, text: entry.before.text },
    after: entry.after === undefined ? null : { label: entry.after.label, text: entry.after.text },
  }
}

/** Returns the period and the terms that a search found in its query, as the API shows them. */
export function understoodResource({
  since,
  until,
  terms,
}: Understood): z.input<typeof SearchPageSchema>['understood'] {
  return {
    ...definedFields({
      since: since === undefined ? undefined : timeText(since),
      until: until === undefined ? undefined : timeText(until),
    }),
    terms: [...terms],
  }
}
