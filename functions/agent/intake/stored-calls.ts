import type { ClosedAssistantMessage, ClosedMessage, MemberCall } from '../../domain/closed-message.ts'
import { TooltrailError } from '../../domain/errors.ts'
import { isLeaders } from '../../domain/message.ts'
import type { Message, ToolMessage } from '../../domain/message.ts'
import type { Run } from '../../domain/run.ts'
import type { SessionKey } from '../../domain/session.ts'
import type { LogReader, MessageQuery } from '../../ports/log-reader.ts'

/** Where the calls of an import are in the log. One that an earlier call of this import stored is the latest with that call. */
export interface StoredCalls {
  /** This message is stored under this id. */
  keep(message: ClosedMessage, id: string): void
  /** The id of the message that has a call. */
  idOf(of: ClosedAssistantMessage, sequence: number): Promise<string>
  /** The id of the message of a call that a member works for. */
  parentIdOf(parent: MemberCall): Promise<string>
  /** How many rounds the loop of this message has in a run. */
  rounds(message: ClosedMessage, run: Run): Promise<number>
}

/** Messages read at a time. */
const PAGE = 50

/** Nothing known yet. */
export function createStoredCalls(reader: LogReader, key: SessionKey): StoredCalls {
  const ids = new WeakMap<ClosedAssistantMessage, string>()
  /** Of the messages of calls that members work for. */
  const parents = new WeakMap<MemberCall, string>()
  const calls: StoredCalls = {
    keep(message, id) {
      if (message.role === 'assistant') ids.set(message, id)
      if (message.role === 'tool' && message.named !== undefined) parents.set(message.named, id)
    },
    async idOf(of, sequence) {
      const call = of.toolCalls[sequence]?.id ?? ''
      const has = (found: Message): boolean =>
        found.role === 'assistant' && found.toolCalls.some(({ id }) => id === call)
      const id = ids.get(of) ?? (await idWith('assistant', call, has))
      ids.set(of, id)
      return id
    },
    async parentIdOf(parent) {
      const { toolCallId, sequence, parentToolCallId } = parent
      const isIt = (found: ToolMessage): boolean =>
        found.toolCallId === toolCallId && found.sequence === sequence && found.parentToolCallId === parentToolCallId
      const is = (found: Message): boolean => found.role === 'tool' && isIt(found)
      const id = parents.get(parent) ?? (await idWith('tool', toolCallId, is))
      parents.set(parent, id)
      return id
    },
    async rounds(message, run) {
      if (isLeaders(message)) return run.rounds
      const { parentToolCallId = '' } = message
      const parent = message.parent && (await calls.parentIdOf(message.parent))
      const isOf = (found: Message): boolean => parent === undefined || found.parentMessageId === parent
      const found = await latest({ roles: ['assistant'], run: run.id, parentToolCallId }, isOf)
      return found === undefined ? 0 : found.round + 1
    },
  }
  return calls

  async function idWith(
    role: 'assistant' | 'tool',
    call: string,
    fits: (message: Message) => boolean,
  ): Promise<string> {
    const found = await latest({ roles: [role] }, fits)
    if (found === undefined) throw new TooltrailError('storage_failed', `the log has no call ${call} any more`)
    return found.id
  }

  async function latest(
    of: Pick<MessageQuery, 'roles' | 'run' | 'parentToolCallId'>,
    fits: (message: Message) => boolean,
  ): Promise<Message | undefined> {
    for (let before: string | undefined; ;) {
      const query = { ...of, order: 'descending', limit: PAGE, ...(before && { before }) } as const
      const page = await reader.messages(key, query)
      const found = page.messages.find(fits)
      before = page.messages.at(-1)?.id
      if (found !== undefined || !page.more || before === undefined) return found
    }
  }
}
