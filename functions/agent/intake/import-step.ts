import { setImmediate as nextTurn } from 'node:timers/promises'
import { DEFAULT_POLICIES } from '../../domain/agent.ts'
import type { Policies } from '../../domain/agent.ts'
import type { ClosedAssistantMessage, ClosedMessage, MemberCall } from '../../domain/closed-message.ts'
import { TooltrailError } from '../../domain/errors.ts'
import { nextId, nextIds } from '../../domain/ids.ts'
import type { ImportName, ImportProgress } from '../../domain/imported.ts'
import { isLeaders } from '../../domain/message.ts'
import type { Message, ToolMessage } from '../../domain/message.ts'
import type { Run } from '../../domain/run.ts'
import { keyOf } from '../../domain/session.ts'
import type { Session, SessionHeader } from '../../domain/session.ts'
import { NO_USAGE } from '../../domain/usage.ts'
import type { LogImport } from '../../ports/log-import.ts'
import type { LogReader } from '../../ports/log-reader.ts'
import type { RunLease } from '../../ports/run-lease.ts'
import { storedMessage, type ContentDependencies } from './closed-contents.ts'
import type { PlacedMessage } from './closed-turns.ts'

export interface AppendDependencies extends ContentDependencies {
  readonly imports: LogImport
  readonly lease: Pick<RunLease, 'look'>
  readonly reader: LogReader
  readonly agents: ReadonlyMap<string, { readonly policies: Policies }>
}

/** One import on its way. */
export interface Import {
  readonly dependencies: AppendDependencies
  readonly session: Session
  readonly source: string | undefined
  readonly state: ImportState
}

interface ImportState {
  /** Runs that are stored, by the number of their turn. */
  readonly runs: Map<number, Run>
  /** Ids of messages with calls. */
  readonly ids: WeakMap<ClosedAssistantMessage, string>
  /** Ids of the messages of calls that members work for. */
  readonly parents: WeakMap<MemberCall, string>
  lastRun?: string
}

type Touched = ReadonlyMap<number, { readonly run: Run; readonly isNew: boolean }>

/** An attempt fails only if somebody else has written to this session meanwhile. */
const ATTEMPTS = 5
/** Characters of arguments. */
const LONG = 64 * 1024
/** Messages read at a time, to find a call that an earlier import stored. */
const PAGE = 50

/** Nothing stored yet. */
export const newState = (): ImportState => ({ runs: new Map(), ids: new WeakMap(), parents: new WeakMap() })

/** Lets this turn go on with the run that an earlier call stored last, if nothing has come in between. */
export async function goOn(
  { dependencies, session, state }: Import,
  turn: number,
  before: ImportProgress,
): Promise<void> {
  const { head } = await headerOf(dependencies, session)
  const run = head === before.last ? await dependencies.reader.run(keyOf(session), before.run) : undefined
  state.lastRun = before.run
  if (run?.stopReason === 'imported') state.runs.set(turn, run)
}

/** Gives messages and runs their ids, and stores them in one write. Rejects with `session_busy`. */
export async function writeStep(
  one: Import,
  batch: readonly PlacedMessage[],
  name: ImportName | undefined,
  before: ImportProgress | undefined,
): Promise<ImportProgress & { readonly firstOfStep: string }> {
  const { dependencies, session, state } = one
  const { imports, clock } = dependencies
  for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
    const seen = await headerOf(dependencies, session)
    if (seen.lease !== undefined || seen.activeRun !== undefined || seen.queued > 0) break
    const now = clock.now()
    const touched = runsOf(one, seen, batch, now)
    const messages = await messagesOf(one, seen, batch, touched, now)
    const step = { messages, runs: [...touched.values()], ...(name && { name }), ...(before && { before }) }
    const after = await imports.append(seen, step)
    if (after !== undefined) {
      for (const [turn, { run }] of touched) state.runs.set(turn, run)
      state.lastRun = after.run
      return { ...after, firstOfStep: messages[0]?.id ?? '' }
    }
    const found = name && (await imports.progress(keyOf(session), name))
    if (found?.messages !== before?.messages) break
  }
  const text = `session ${session.session} has a run that has not ended, or another import`
  throw new TooltrailError('session_busy', text, { retryable: true })
}

/** Whether its call has arguments that take milliseconds to read. */
const isLong = (message: ClosedMessage): boolean =>
  message.role === 'tool' && (message.of.toolCalls[message.sequence]?.arguments.length ?? 0) > LONG

async function headerOf({ lease }: Pick<AppendDependencies, 'lease'>, session: Session): Promise<SessionHeader> {
  const header = await lease.look(keyOf(session))
  if (header?.status !== 'live') throw new TooltrailError('session_not_found', `there is no session ${session.session}`)
  return header
}

async function messagesOf(
  one: Import,
  seen: SessionHeader,
  batch: readonly PlacedMessage[],
  touched: Touched,
  now: number,
): Promise<Message[]> {
  const { dependencies, session, state } = one
  const policies = dependencies.agents.get(session.agent)?.policies ?? DEFAULT_POLICIES
  const messageIds = nextIds(seen.head, now, batch.length)
  const messages: Message[] = []
  for (const [place, { message, turn, round }] of batch.entries()) {
    const id = messageIds[place] ?? ''
    if (message.role === 'assistant') state.ids.set(message, id)
    if (message.role === 'tool' && message.named !== undefined) state.parents.set(message.named, id)
    const own = { id, runId: touched.get(turn)?.run.id ?? '', round, recordedAt: now, agent: session.agent }
    const assistantMessageId = message.role === 'tool' ? await idOf(one, message.of, message.sequence) : undefined
    const stored = await storedMessage({ dependencies, key: keyOf(session), policies }, message, {
      ...own,
      assistantMessageId,
      parentMessageId: message.parent && (await parentIdOf(one, message.parent)),
    })
    messages.push(stored)
    if (isLong(message)) await nextTurn()
  }
  return messages
}

/** The runs of these messages as they are with them. */
function runsOf(one: Import, seen: SessionHeader, batch: readonly PlacedMessage[], now: number): Touched {
  const { state } = one
  const touched = new Map<number, { run: Run; isNew: boolean }>()
  let last = [seen.tail, state.lastRun]
    .filter((id) => id !== undefined)
    .toSorted()
    .at(-1)
  for (const { message, turn, round } of batch) {
    const at = message.createdAt ?? now
    const former = state.runs.get(turn)
    const known = touched.get(turn) ?? (former && { run: former, isNew: false })
    const before = known ?? { run: newRun(one, (last = nextId(last, now)), message, at), isNew: true }
    const rounds = message.role === 'assistant' && isLeaders(message) ? round + 1 : 0
    const endedAt = Math.max(before.run.endedAt ?? at, message.role === 'tool' ? (message.completedAt ?? at) : at)
    touched.set(turn, { ...before, run: { ...before.run, endedAt, rounds: Math.max(before.run.rounds, rounds) } })
  }
  return touched
}

const newRun = ({ session, source }: Import, id: string, first: ClosedMessage, at: number): Run => ({
  id,
  agent: session.agent,
  status: 'completed',
  trigger: first.role === 'user' ? 'input' : 'continue',
  onBusy: 'queue',
  clientTools: [],
  createdAt: at,
  startedAt: at,
  endedAt: at,
  rounds: 0,
  usage: NO_USAGE,
  usageByAgent: {},
  stopReason: 'imported',
  ...(source === undefined ? {} : { source }),
})

/** The id of the message that has a call. One that an earlier call of this import stored is the latest with that call. */
async function idOf(one: Import, of: ClosedAssistantMessage, sequence: number): Promise<string> {
  const known = one.state.ids.get(of)
  if (known !== undefined) return known
  const call = of.toolCalls[sequence]?.id ?? ''
  const id = await latest(
    one,
    { role: 'assistant', call },
    (found) => found.role === 'assistant' && found.toolCalls.some(({ id }) => id === call),
  )
  one.state.ids.set(of, id)
  return id
}

/** The id of the message of a call that a member works for, found in the same way. */
async function parentIdOf(one: Import, parent: MemberCall): Promise<string> {
  const known = one.state.parents.get(parent)
  if (known !== undefined) return known
  const { toolCallId, sequence, parentToolCallId } = parent
  const isIt = (found: ToolMessage): boolean =>
    found.toolCallId === toolCallId && found.sequence === sequence && found.parentToolCallId === parentToolCallId
  const id = await latest(one, { role: 'tool', call: toolCallId }, (found) => found.role === 'tool' && isIt(found))
  one.state.parents.set(parent, id)
  return id
}

async function latest(
  { dependencies, session }: Import,
  { role, call }: { readonly role: 'assistant' | 'tool'; readonly call: string },
  fits: (message: Message) => boolean,
): Promise<string> {
  for (let before: string | undefined; ;) {
    const query = { order: 'descending', limit: PAGE, roles: [role], ...(before && { before }) } as const
    const page = await dependencies.reader.messages(keyOf(session), query)
    const found = page.messages.find(fits)
    if (found !== undefined) return found.id
    before = page.messages.at(-1)?.id
    if (!page.more || before === undefined)
      throw new TooltrailError('storage_failed', `the log has no call ${call} any more`)
  }
}
