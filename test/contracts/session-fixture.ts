import { randomBytes } from 'node:crypto'
import { expect } from 'vitest'
import { definedFields } from '../../functions/domain/defined-fields.ts'
import type { ErrorCode } from '../../functions/domain/errors.ts'
import { nextIds } from '../../functions/domain/ids.ts'
import type { AssistantMessage, ToolMessage } from '../../functions/domain/messages/message.ts'
import type { RunOutcome } from '../../functions/domain/runs/run.ts'
import { LEASE_MS } from '../../functions/domain/session.ts'
import type { Lease, SessionHeader, SessionKey } from '../../functions/domain/session.ts'
import { NO_USAGE } from '../../functions/domain/usage/usage.ts'
import type { Usage } from '../../functions/domain/usage/usage.ts'
import type { NewRun } from '../../functions/ports/run-inbox.ts'
import type { Resolution } from '../../functions/domain/runs/call-resolution.ts'
import type { RunEnd } from '../../functions/domain/runs/run-changes.ts'
import type { Started } from '../../functions/ports/run-lease.ts'
import type { CallResult, Round } from '../../functions/ports/run-log.ts'
import type { NewSession } from '../../functions/ports/session-store.ts'
import type { SessionPorts, Stores } from './stores.ts'

/** One session in a separate tenant, in the stores of a suite. */
export interface SessionFixture extends Stores {
  readonly key: SessionKey
}

/** A name that no other test uses. */
export const fresh = (prefix: string): string => `${prefix}-${randomBytes(8).toString('hex')}`

const USAGE: Usage = { ...NO_USAGE, inputTokens: 7, outputTokens: 3, totalTokens: 10 }

/** Advances the clock by one hour, and creates a session in a fresh tenant. */
export async function openFixture(stores: Stores, session: Partial<NewSession> = {}): Promise<SessionFixture> {
  stores.clock.advance(3_600_000)
  const key = { tenant: session.tenant ?? fresh('tenant'), session: session.session ?? fresh('session') }
  await stores.sessions.create({ agent: 'helper', metadata: {}, ...session, ...key })
  return { ...stores, key }
}

export const newRun = (run: Partial<NewRun> = {}): NewRun => ({
  agent: 'helper',
  trigger: 'input',
  onBusy: 'queue',
  clientTools: [],
  ...(run.trigger === 'continue' ? {} : { input: { parts: [{ type: 'text', text: 'hello' }] } }),
  ...run,
})

/** Accepts a run on an idle session and starts it in the same write. */
export async function startRun(fixture: SessionFixture, run: Partial<NewRun> = {}): Promise<Started> {
  const { started } = await fixture.inbox.enqueue(fixture.key, newRun({ startAs: fresh('owner'), ...run }))
  if (started === undefined) throw new Error('the session was not idle')
  return started
}

export async function header(fixture: SessionFixture): Promise<SessionHeader> {
  const found = await fixture.lease.readHeader(fixture.key)
  if (found === undefined) throw new Error('the session has no header')
  return found
}

/** Lets the lease expire, then takes over the run and claims its calls as another process. */
export async function takeOver(
  fixture: SessionFixture,
  ports: SessionPorts = fixture.peer,
): ReturnType<SessionPorts['lease']['claim']> {
  fixture.clock.advance(LEASE_MS + 1)
  const taken = await ports.lease.take(await header(fixture), fresh('owner'))
  if (taken === undefined) throw new Error('the run could not be taken')
  return ports.lease.claim(taken)
}

export interface Call {
  readonly name: string
  readonly id?: string
  readonly arguments?: string
  readonly needs?: 'result' | 'approval'
}

/** Returns a round with these calls. The ids of its messages follow `after`. */
export function roundAfter(
  fixture: SessionFixture,
  lease: Lease,
  after: string | undefined,
  calls: readonly Call[],
  round = 0,
): Round {
  const [id = '', ...toolIds] = nextIds(after, fixture.clock.now(), calls.length + 1)
  const base = { runId: lease.runId, agent: 'helper', round, createdAt: fixture.clock.now() }
  const toolCalls = calls.map((call, n) => ({
    id: call.id ?? `call-${round}-${n}`,
    name: call.name,
    arguments: call.arguments ?? '{}',
  }))
  return {
    assistant: {
      ...base,
      id,
      role: 'assistant',
      parts: toolCalls.map((call) => ({ type: 'tool_call', id: call.id })),
      toolCalls,
      model: 'demo/demo',
      finishReason: 'tool-calls',
      usage: USAGE,
    },
    tools: calls.map((call, sequence) => ({
      ...base,
      id: toolIds[sequence] ?? '',
      role: 'tool',
      assistantMessageId: id,
      toolCallId: toolCalls[sequence]?.id ?? '',
      toolName: call.name,
      call: `${call.name}()`,
      sequence,
      status: call.needs === undefined ? 'running' : 'waiting',
      ...definedFields({ needs: call.needs }),
      parts: [],
      generation: lease.generation,
    })),
  }
}

/** The last id of a round. */
export const headOf = (round: Round): string => round.tools.at(-1)?.id ?? round.assistant.id

/** The open call of a round at `place`. */
export function callOf(round: Round, place: number): ToolMessage {
  const tool = round.tools[place]
  if (tool === undefined) throw new Error(`the round has no call ${place}`)
  return tool
}

export function finalMessage(
  fixture: SessionFixture,
  lease: Lease,
  after: string | undefined,
  text = 'done',
): AssistantMessage {
  const [id = ''] = nextIds(after, fixture.clock.now(), 1)
  return {
    id,
    runId: lease.runId,
    agent: 'helper',
    round: 0,
    createdAt: fixture.clock.now(),
    role: 'assistant',
    parts: [{ type: 'text', text }],
    toolCalls: [],
    model: 'demo/demo',
    finishReason: 'stop',
    usage: USAGE,
  }
}

const STOP = { completed: 'answer', failed: 'error', cancelled: 'cancelled' } as const

/** Returns the end of a run. The id of its final message follows `after`. */
export const endAfter = (
  fixture: SessionFixture,
  lease: Lease,
  after: string | undefined,
  outcome: RunOutcome = 'completed',
): RunEnd => ({
  outcome,
  stopReason: STOP[outcome],
  ...(outcome === 'failed' ? { error: { code: 'network', message: 'connection reset', retryable: true } } : {}),
  message: finalMessage(fixture, lease, after),
})

export const resultOf = (fixture: SessionFixture, messageId: string, text = 'result'): CallResult => ({
  messageId,
  status: 'completed',
  parts: [{ type: 'text', text }],
  completedAt: fixture.clock.now(),
  durationMs: 5,
})

export const resolutionOf = (toolCallId: string, text = 'result'): Resolution => ({
  toolCallId,
  kind: 'result',
  status: 'completed',
  parts: [{ type: 'text', text }],
  hash: `hash of ${text}`,
})

export const approvalOf = (toolCallId: string, approved: boolean): Resolution => ({
  toolCallId,
  kind: 'approval',
  approved,
  hash: `hash of ${approved}`,
})

/** Starts a run, stores a round with these waiting calls, and pauses the run. */
export async function pausedRun(
  fixture: SessionFixture,
  calls: readonly Call[],
): Promise<{ started: Started; round: Round }> {
  const started = await startRun(fixture)
  const round = roundAfter(fixture, started.lease, started.lease.head, calls)
  await fixture.log.appendRound(started.lease, round)
  if ((await fixture.log.pause(started.lease)) === undefined) throw new Error('the run did not pause')
  return { started, round }
}

export const expectCode = async (promise: Promise<unknown>, code: ErrorCode): Promise<void> => {
  await expect(promise).rejects.toMatchObject({ code })
}

/** Texts that databases often store incorrectly. */
export const HOSTILE_TEXTS: readonly (readonly [string, string])[] = [
  ['empty', ''],
  ['NUL', 'a\u0000b\u0000'],
  ['emoji with joiners', '👩‍👩‍👧‍👦 🏳️‍🌈'],
  ['lone surrogates', 'x\ud83dy\ude00z'],
  ['CJK', '日本語のログ 中文 한국어'],
  ['quotes and wildcards', `'; DROP TABLE x; -- "%_\\`],
  ['combining and bidirectional', 'e\u0301 \u202eabc\u202c \ufeff'],
  ['line ends', '\r\n\n\r\u2028\u2029'],
  // 396,000 bytes of UTF-8. DynamoDB's limit for an item is 409,600 bytes.
  ['400 kB', 'päpä 漢 '.repeat(36_000)],
]
