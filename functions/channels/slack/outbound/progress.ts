import type { RunEvent, RunStateEvent } from '../../../domain/events.ts'
import { isLeaders } from '../../../domain/messages/message.ts'
import type { AssistantMessage, ToolMessage, ToolStatus } from '../../../domain/messages/message.ts'
import { withoutBroadcasts } from './text.ts'

/** A tool call as people see it: the tool's name and its status, without arguments and result. */
export interface Task {
  readonly id: string
  readonly title: string
  readonly status: 'pending' | 'in_progress' | 'complete' | 'error'
}

const STATUSES: { readonly [status in ToolStatus]: Task['status'] } = {
  running: 'in_progress',
  approved: 'in_progress',
  waiting: 'pending',
  completed: 'complete',
  error: 'error',
  interrupted: 'error',
  cancelled: 'error',
  denied: 'error',
}

/** The progress of a run that a channel shows. */
export interface Progress {
  note(event: RunEvent): void
  /** The text of all rounds so far, in order. Broadcast mentions in it are disabled. */
  text(): string
  /** The current status of each call, in the order in which the calls started. */
  tasks(): readonly Task[]
  /** The current rows of the calls that needed an approval. */
  approvals(): readonly ToolMessage[]
  /** The run's latest event, if it ended or paused the run. */
  end(): RunStateEvent | undefined
}

interface Seen {
  /** For each round of the leader, the texts of its parts. */
  readonly rounds: Map<number, string[]>
  readonly tasks: Map<string, Task>
  readonly approvals: Map<string, ToolMessage>
  end: RunStateEvent | undefined
}

/** Collects the progress of a run from its events. */
export function createProgress(): Progress {
  const seen: Seen = { rounds: new Map(), tasks: new Map(), approvals: new Map(), end: undefined }
  return {
    note: (event) => noteEvent(seen, event),
    text: () =>
      withoutBroadcasts(
        [...seen.rounds]
          .toSorted(([one], [other]) => one - other)
          .flatMap(([, texts]) => texts.filter((text) => text !== ''))
          .join('\n\n'),
      ),
    tasks: () => [...seen.tasks.values()],
    approvals: () => [...seen.approvals.values()],
    end: () => seen.end,
  }
}

function noteEvent(seen: Seen, event: RunEvent): void {
  const { rounds } = seen
  switch (event.type) {
    case 'text.delta':
      if (isLeaders(event)) add(rounds, event.round, event.part, event.text)
      break
    case 'round.started':
    case 'round.restarted':
      if (isLeaders(event)) rounds.delete(event.round)
      break
    case 'message.completed':
      if (isLeaders(event.message)) rounds.set(event.message.round, textsOf(event.message))
      break
    case 'tool_call.started':
    case 'tool_call.completed':
      noteCall(seen, event.message)
      break
    case 'run.started':
    case 'run.resumed':
      seen.end = undefined
      break
    case 'run.paused':
    case 'run.completed':
    case 'run.failed':
    case 'run.cancelled':
      seen.end = event
      for (const call of event.waiting ?? []) noteCall(seen, call)
      break
    case 'run.queued':
    case 'message.steered':
    case 'reasoning.delta':
    case 'tool_call.delta':
    case 'tool_call.progress':
    case 'context.nearly_full':
    case 'context.consolidated':
    case 'warning':
      break
    default:
      event satisfies never
  }
}

function noteCall({ tasks, approvals }: Seen, message: ToolMessage): void {
  tasks.set(message.id, { id: message.id, title: message.toolName, status: STATUSES[message.status] })
  if (message.needs === 'approval') approvals.set(message.id, message)
}

const textsOf = ({ parts }: AssistantMessage): string[] =>
  parts.flatMap((part) => (part.type === 'text' ? [part.text] : []))

function add(rounds: Map<number, string[]>, round: number, part: number, text: string): void {
  const texts = rounds.get(round) ?? []
  // Parts without text, such as reasoning, get an empty text.
  while (texts.length <= part) texts.push('')
  texts[part] += text
  rounds.set(round, texts)
}
