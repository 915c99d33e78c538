import { isTerminal } from '../../domain/events.ts'
import type { RunEvent } from '../../domain/events.ts'
import type { Message } from '../../domain/messages/message.ts'
import { isEnded } from '../../domain/runs/run.ts'
import type { Run, RunNotice } from '../../domain/runs/run.ts'
import type { SessionKey } from '../../domain/session.ts'
import { noticeEvents } from '../../log/run-events.ts'
import type { LogReader } from '../../ports/log-reader.ts'

/**
 * Finds the message after which a follower resumes its reading of the log. `after` is the id of the last event that the
 * follower has received. That event comes after all events of the found message and of the messages before it. The
 * leader's round that contains that event begins after the found message. Returns undefined if there is no such
 * message, or if the event belongs to another run: the follower then gets all events.
 */
export async function resumePoint(
  reader: LogReader,
  key: SessionKey,
  run: Run,
  after: string | undefined,
): Promise<string | undefined> {
  const found = after === undefined ? undefined : await messageOfEvent(reader, key, run, after)
  if (found === undefined || found.message.runId !== run.id) return undefined
  const leaders = await leadersMessage(reader, key, found.message)
  if (leaders === undefined) return undefined
  // A user's message has no calls, so it has no events after the notice.
  if (leaders.role === 'user' && found.isBefore) return leaders.id
  const begin = leaders.role === 'tool' ? leaders.assistantMessageId : leaders.id
  const query = { run: run.id, before: begin, order: 'descending', limit: 1 } as const
  return (await reader.messages(key, query)).messages[0]?.id
}

/** Returns the message in whose round an event was emitted. `isBefore`: whether the message's own event precedes that event. */
async function messageOfEvent(
  reader: LogReader,
  key: SessionKey,
  run: Run,
  event: string,
): Promise<{ readonly message: Message; readonly isBefore: boolean } | undefined> {
  const notice = noticeOf(run, event)
  const isApart = notice !== undefined && !('counts' in notice)
  const [id = '', type = ''] = event.split(':')
  const message =
    id === run.id && !isApart
      ? await lastCompletion(reader, key, run, type)
      : await reader.message(key, isApart ? notice.after : id)
  return message && { message, isBefore: isApart }
}

/**
 * Returns a message of the leader unchanged; for a member's message, returns the leader's delegate call. Members work
 * concurrently, so the order of their messages in the log is not the order in which the members end.
 */
async function leadersMessage(reader: LogReader, key: SessionKey, message: Message): Promise<Message | undefined> {
  if (message.parentMessageId === undefined) return message
  const call = await reader.message(key, message.parentMessageId)
  return call && leadersMessage(reader, key, call)
}

/** Returns the notice that the event with this id reports. */
function noticeOf(run: Run, event: string): RunNotice | undefined {
  const { notices = [] } = run
  return notices[noticeEvents(run, notices).findIndex((one) => one?.id === event)]
}

/** Returns the run's last completion if the event is the run's end; otherwise undefined. */
async function lastCompletion(
  reader: LogReader,
  key: SessionKey,
  run: Run,
  type: string,
): Promise<Message | undefined> {
  if (!isEnded(run.status) || !isTerminal({ type } as RunEvent) || type === 'run.paused') return undefined
  const query = { run: run.id, roles: ['assistant'], order: 'descending', limit: 1 } as const
  return (await reader.messages(key, query)).messages[0]
}
