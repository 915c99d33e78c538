import type {
  ClosedAssistantMessage,
  ClosedMessage,
  ClosedToolMessage,
  MemberCall,
} from '../../domain/messages/closed-message.ts'
import { TooltrailError } from '../../domain/errors.ts'
import { nextId } from '../../domain/ids.ts'
import type { Range } from '../../domain/messages/imported.ts'
import { isLeaders } from '../../domain/messages/message.ts'
import type { AssistantMessage, Message, ToolMessage } from '../../domain/messages/message.ts'
import type { Run } from '../../domain/runs/run.ts'
import type { SessionKey } from '../../domain/session.ts'
import type { LogReader, MessageQuery } from '../../ports/log-reader.ts'
import { createStoredResults } from './stored-results.ts'

/**
 * Finds an import's calls in the log. Reads only the import's ranges, because other messages may have calls with the same id. If
 * several calls have the same id, the latest call is returned.
 */
export interface StoredCalls {
  /** Records that this message is stored under this id. */
  keep(message: ClosedMessage, id: string): void
  /**
   * Records a message that an earlier call of the import has stored. These messages must be passed in order, up to the last
   * stored one.
   */
  stored(message: ClosedMessage): void
  /**
   * The id of the message that has the call of a result, and the call's index in it. If the round was split, that message is the
   * completion with the rest of the round.
   */
  callOf(result: ClosedToolMessage): Promise<StoredCall>
  /** The id of the row of a call that a member works for. */
  parentIdOf(parent: MemberCall): Promise<string>
  /**
   * The id of the row of a call whose result has sources. Undefined if the row is unknown, or if the row at the call's index
   * belongs to another call.
   */
  resultIdOf(call: MemberCall): Promise<string | undefined>
  /** Number of rounds that the loop of this message has in a run. */
  rounds(message: ClosedMessage, run: Run): Promise<number>
}

interface StoredCall {
  readonly id: string
  readonly sequence: number
}

/** The stored completion of a round. */
interface StoredRound {
  readonly id: string
  /**
   * The index of each call in the stored completion, by the call's id. If undefined, each call keeps its index in the source.
   */
  readonly places?: ReadonlyMap<string, number>
}

/** Messages in one page. */
const PAGE = 50

interface Place {
  readonly reader: LogReader
  readonly key: SessionKey
  /** The ranges of the log that earlier calls of this import stored. */
  readonly ranges: readonly Range[]
}

/** Creates the state of an import. Called before this process stores messages of the import. */
export function createStoredCalls(place: Place): StoredCalls {
  const rounds = new WeakMap<ClosedAssistantMessage, StoredRound>()
  /** Ids of the rows of calls that members work for, or whose results have sources. */
  const parents = new WeakMap<MemberCall, string>()
  const results = createStoredResults(newestResults(place))
  const calls: StoredCalls = {
    keep(message, id) {
      if (message.role === 'assistant') rounds.set(message, { id })
      if (message.role === 'tool' && message.named !== undefined) parents.set(message.named, id)
    },
    stored: (message) => results.stored(message),
    async callOf({ of, sequence }) {
      const call = of.toolCalls[sequence]?.id ?? ''
      const round = rounds.get(of) ?? (await roundWith(of, call))
      rounds.set(of, round)
      return { id: round.id, sequence: round.places?.get(call) ?? sequence }
    },
    async parentIdOf(parent) {
      const { toolCallId, parentToolCallId } = parent
      const is = (found: Message): boolean =>
        found.role === 'tool' && found.toolCallId === toolCallId && found.parentToolCallId === parentToolCallId
      const id = parents.get(parent) ?? (await latest({ roles: ['tool'] }, is))?.id
      if (id === undefined) throw isGone(toolCallId)
      parents.set(parent, id)
      return id
    },
    resultIdOf: async (call) => (await results.idOf(call)) ?? parents.get(call),
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

  async function roundWith({ parent, parentToolCallId }: ClosedAssistantMessage, call: string): Promise<StoredRound> {
    const parentMessageId = parent && (await calls.parentIdOf(parent))
    const isOfLoop = (found: Message): boolean =>
      found.parentToolCallId === parentToolCallId && found.parentMessageId === parentMessageId
    const has = (found: Message): boolean => isOfLoop(found) && callsOf(found).some(({ id }) => id === call)
    const found = await latest({ roles: ['assistant'] }, has)
    if (found === undefined) throw isGone(call)
    return { id: found.id, places: new Map(callsOf(found).map(({ id }, place) => [id, place])) }
  }

  async function latest(of: Kind, fits: (message: Message) => boolean): Promise<Message | undefined> {
    for await (const message of newestOf(place, of)) if (fits(message)) return message
    return undefined
  }
}

type Kind = Pick<MessageQuery, 'roles' | 'run' | 'parentToolCallId'>

/** Reads messages that earlier calls of the import stored, newest first. */
async function* newestOf({ reader, key, ranges }: Place, of: Kind): AsyncGenerator<Message> {
  for (const { first, last } of ranges.toReversed()) {
    for (let before: string | undefined = nextId(last, 0); before !== undefined && before > first;) {
      const page = await reader.messages(key, { ...of, order: 'descending', limit: PAGE, before })
      for (const message of page.messages) if (message.id >= first) yield message
      before = page.more ? page.messages.at(-1)?.id : undefined
    }
  }
}

async function* newestResults(place: Place): AsyncGenerator<ToolMessage, undefined> {
  for await (const message of newestOf(place, { roles: ['tool'] })) if (message.role === 'tool') yield message
}

const callsOf = (message: Message): AssistantMessage['toolCalls'] =>
  message.role === 'assistant' ? message.toolCalls : []

/**
 * The error for a call that the log does not have. The source has changed in its stored part, or the session is being deleted.
 */
const isGone = (call: string): TooltrailError =>
  new TooltrailError(
    'import_changed',
    `the stored messages of this source have no call ${JSON.stringify(call)}: these messages do not continue them`,
  )
