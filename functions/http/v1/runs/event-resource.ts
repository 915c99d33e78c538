import type { z } from '@hono/zod-openapi'
import type { CallProgressEvent, RunEvent } from '../../../domain/events.ts'
import { definedFields } from '../../../domain/defined-fields.ts'
import { attemptField } from '../../../domain/runs/attempt.ts'
import { messageResource, parentFields } from '../messages/resource.ts'
import { runResource } from './resource.ts'
import type { WaitingCall } from './resource.ts'
import type { RunEventSchema } from './event-schema.ts'

export type RunEventResource = z.input<typeof RunEventSchema>

const progressFields = ({ messageId, toolCallId, toolName, progress, total, text }: CallProgressEvent) => ({
  ...{ message_id: messageId, tool_call_id: toolCallId, tool_name: toolName, progress },
  ...definedFields({ total, text }),
})

/**
 * An event as the API shows it. `calls`: the calls of a `run.paused`, or the call of a tool message, with their
 * arguments.
 */
export function eventResource(session: string, event: RunEvent, calls: readonly WaitingCall[] = []): RunEventResource {
  const base = {
    session_id: session,
    run_id: event.runId,
    ...definedFields({ agent: event.agent }),
    ...parentFields(event),
  }
  switch (event.type) {
    case 'run.queued':
    case 'run.resumed':
    case 'run.paused':
    case 'run.completed':
    case 'run.failed':
    case 'run.cancelled':
      return { type: event.type, ...base, run: runResource(session, { run: event.run, waiting: calls }) }
    case 'run.started': {
      const message = event.message === undefined ? undefined : messageResource(session, event.message)
      const run = runResource(session, { run: event.run, waiting: [] })
      return { type: event.type, ...base, run, ...definedFields({ message }) }
    }
    case 'tool_call.started':
    case 'tool_call.completed':
      return { type: event.type, ...base, message: messageResource(session, event.message, calls[0]) }
    case 'message.completed':
    case 'message.steered':
      return { type: event.type, ...base, message: messageResource(session, event.message) }
    case 'text.delta':
    case 'reasoning.delta':
      return { type: event.type, ...base, round: event.round, part: event.part, text: event.text }
    case 'tool_call.delta':
      return {
        type: event.type,
        ...base,
        round: event.round,
        sequence: event.sequence,
        tool_call_id: event.toolCallId,
        tool_name: event.toolName,
        arguments: event.arguments,
      }
    case 'tool_call.progress':
      return { type: event.type, ...base, ...progressFields(event) }
    case 'round.started':
      return { type: event.type, ...base, round: event.round, ...attemptField(event.attempt) }
    case 'round.restarted':
      return { type: event.type, ...base, round: event.round, ...attemptField(event.attempt), reason: event.reason }
    case 'context.nearly_full':
      return { type: event.type, ...base, messages: event.messages, threshold: event.threshold }
    case 'context.consolidated':
      return { type: event.type, ...base, through: event.through, messages: event.messages }
    case 'warning':
      return { type: event.type, ...base, code: event.code, detail: event.detail }
    default:
      return event satisfies never
  }
}
