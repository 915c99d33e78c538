import type { SummaryWork } from '../../domain/context.ts'
import { definedFields } from '../../domain/defined-fields.ts'
import { textOf } from '../../domain/messages/message.ts'
import type { Message } from '../../domain/messages/message.ts'
import type { Run } from '../../domain/runs/run.ts'
import { keyOf } from '../../domain/session.ts'
import type { SessionKey } from '../../domain/session.ts'
import { limitTime, raceAbort } from '../../domain/time/time-limit.ts'
import type { Usage } from '../../domain/usage/usage.ts'
import { TITLE_PROMPT, titleOfCompletion, titleRequestText } from '../../log/request/title-prompt.ts'
import { weighDeclarations, weighMessages } from '../../log/request/token-weight.ts'
import type { Completion } from '../../ports/model.ts'
import { requestCompletion } from '../loop/model/complete.ts'
import { countTitles } from '../loop/model/unstored-usage.ts'
import type { LoopDependencies } from '../loop/run-state.ts'

/** Timeout for requesting a title. */
const TITLE_MS = 60_000

/**
 * Asks the model `name` for a title after the session's first completed run. The run's lease is already released. Never
 * rejects: a failure is logged and changes nothing.
 */
export async function titleSession(
  dependencies: LoopDependencies,
  key: SessionKey,
  run: Run,
  { name, signal }: { readonly name: string; readonly signal: AbortSignal },
): Promise<void> {
  const limit = limitTime(signal, TITLE_MS, () => new Error(`the title took longer than ${TITLE_MS / 1_000} s`))
  try {
    await askForTitle(dependencies, key, { run, name, signal: limit.signal })
  } catch (error) {
    const { tenant, session } = key
    dependencies.logger.warn('a session got no title from its model', { tenant, session, error: String(error) })
  } finally {
    limit.end()
  }
}

interface Work {
  readonly run: Run
  /** Name of the model. */
  readonly name: string
  readonly signal: AbortSignal
}

async function askForTitle(dependencies: LoopDependencies, key: SessionKey, work: Work): Promise<void> {
  const { sessions, clock } = dependencies
  const session = await sessions.read(key)
  if (session === undefined || (session.titleSource !== undefined && session.titleSource !== 'input')) return
  const spoken = await firstExchange(dependencies, key, work.run)
  if (spoken === undefined) return
  const account = definedFields({ owner: session.owner, keyId: work.run.keyId })
  const count = countTitles(dependencies, key, account)
  const completion = await request(dependencies, key, { ...work, text: titleRequestText(...spoken), count })
  const { usage, model } = completion
  const made: SummaryWork = { usage, model, createdAt: clock.now() }
  const title = titleOfCompletion(textOf(completion.parts))
  await sessions.recordTitle(key, { work: made, account, ...definedFields({ title }) })
}

/** The first input of the session's first completed run, and its answer; undefined if `run` is a later run. */
async function firstExchange(
  { reader }: LoopDependencies,
  key: SessionKey,
  run: Run,
): Promise<[input: Message, answer: Message | undefined] | undefined> {
  const { runs } = await reader.runs(key, { limit: 2, status: 'completed' })
  if (runs.length !== 1 || runs[0]?.id !== run.id) return undefined
  const ofRun = { run: run.id, limit: 1 }
  const first = await reader.messages(key, { ...ofRun, order: 'ascending', roles: ['user'] })
  const last = await reader.messages(key, { ...ofRun, order: 'descending', roles: ['assistant'] })
  const [input] = first.messages
  return input && [input, last.messages[0]]
}

/** Replaces the lease keeper: this work holds no lease. */
const NO_LEASE = { startWatchdog: () => () => undefined, check: () => undefined }

async function request(
  { models, clock }: LoopDependencies,
  key: SessionKey,
  { name, signal, text, count }: Work & { readonly text: string; count(usage: Usage, model: string): Promise<void> },
): Promise<Completion> {
  const model = await raceAbort(models.open(name, keyOf(key)), signal)
  const asked = {
    instructions: TITLE_PROMPT,
    messages: [{ role: 'user', parts: [{ type: 'text', text }] }],
    tools: [],
    toolChoice: 'none',
    options: {},
  } as const
  const target = { model, clock, keeper: NO_LEASE, at: { runId: '', round: 0 }, emit: () => undefined }
  const tokens = weighDeclarations(asked.instructions, []) + weighMessages(asked.messages)
  const counting = { ...target, count: (usage: Usage) => count(usage, model.name) }
  return requestCompletion(counting, { request: asked, tokens }, signal)
}
