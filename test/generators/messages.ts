import { nextId } from '../../functions/domain/ids.ts'
import type {
  AssistantMessage,
  AssistantPart,
  Message,
  ToolCall,
  ToolMessage,
  UserMessage,
  UserPart,
} from '../../functions/domain/messages/message.ts'

const START = 1_700_000_000_000

/** The id of a log's first message. The id ends with the number `place`. */
const firstId = (place: number): string => `${nextId(undefined, START).slice(0, -16)}${String(place).padStart(16, '0')}`

/** Builds a log from one line per message. Ids increase from `first`. The writer counts the rounds and the indexes of calls. */
export function writeLog(first: string = firstId(0)): LogWriter {
  const log: Message[] = []
  let run = 'run-1'
  let round = 0
  let asked: AssistantMessage | undefined
  const nextOf = (last: Message | undefined): string => (last === undefined ? first : nextId(last.id, START))
  const base = () => ({ id: nextOf(log.at(-1)), runId: run, agent: 'default', round, createdAt: START })

  const writer: LogWriter = {
    log,
    run(id) {
      run = id
      round = 0
      return writer
    },
    user(...parts) {
      const message: UserMessage = { ...base(), role: 'user', parts: parts.map(toText) }
      log.push(message)
      return writer
    },
    assistant(...parts) {
      const toolCalls = parts.flatMap((part) => (typeof part === 'object' && 'arguments' in part ? [part] : []))
      const placed = parts.map((part): AssistantPart =>
        typeof part === 'string'
          ? { type: 'text', text: part }
          : 'arguments' in part
            ? { type: 'tool_call', id: part.id }
            : part,
      )
      asked = { ...base(), role: 'assistant', parts: placed, toolCalls }
      round++
      log.push(asked)
      return writer
    },
    result(sequence, result, change = {}) {
      const call = asked?.toolCalls[sequence]
      if (asked === undefined || call === undefined) throw new RangeError(`there is no call ${sequence}`)
      const message: ToolMessage = {
        ...base(),
        round: asked.round,
        role: 'tool',
        assistantMessageId: asked.id,
        toolCallId: call.id,
        toolName: call.name,
        call: `${call.name}()`,
        sequence,
        status: 'completed',
        parts: result === '' ? [] : [{ type: 'text', text: result }],
        generation: 1,
        ...change,
      }
      log.push(message)
      return writer
    },
  }
  return writer
}

export interface LogWriter {
  readonly log: Message[]
  /** Starts a run, which the following messages belong to. */
  run(id: string): LogWriter
  user(...parts: readonly (string | UserPart)[]): LogWriter
  assistant(...parts: readonly (string | AssistantPart | ToolCall)[]): LogWriter
  /** The result of a call of the newest assistant message. */
  result(sequence: number, text: string, change?: Partial<ToolMessage>): LogWriter
}

export const callTo = (name: string, raw: string, id = `call_${name}`): ToolCall => ({ id, name, arguments: raw })

const toText = (part: string | UserPart): UserPart => (typeof part === 'string' ? { type: 'text', text: part } : part)
