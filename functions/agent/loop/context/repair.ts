import type { MessageRange, Repairs, RepairStep, SessionContext } from '../../../domain/context.ts'
import { REPAIR_STEPS } from '../../../domain/context.ts'
import { definedFields } from '../../../domain/defined-fields.ts'
import { isLeaders } from '../../../domain/messages/message.ts'
import type { Message } from '../../../domain/messages/message.ts'
import { fullModelName } from '../../../domain/model-name.ts'
import type { ModelRequest } from '../../../domain/model-request.ts'
import { openingOf, withinContext } from '../../../log/request/request-context.ts'
import { isMadeBy, repairsFor } from '../../../log/request/request-form.ts'
import { tokensOf } from '../../../log/request/request-size.ts'
import { toWireRequest } from '../../../log/request/wire-names.ts'
import { replayEach } from '../../../log/replay.ts'
import { ModelError } from '../../../ports/model.ts'
import { warning } from '../notices.ts'
import { recordDecision } from '../record-decision.ts'
import type { RunState } from '../run-state.ts'
import { conversationOf, hasCompletedSince, threadsOf } from '../thread.ts'
import type { Thread } from '../thread.ts'
import { decidedOf, measure, requested } from './context.ts'
import type { Asked, SizedRequest } from './context.ts'

/** Maximum number of repaired requests of a run. */
const MAX_REPAIRS = 4

const WITHOUT: { readonly [step in RepairStep]: string } = {
  format: 'with the format of the answer in its instructions',
  reasoning: 'without reasoning',
  names: 'with the narrowest names and ids',
  media: 'without images and files',
  parts: 'without parts that the model may not know',
}

/**
 * Returns the request in its next form after the provider refused it for a reason other than its length. Each form omits or
 * simplifies something (`WITHOUT`). The form is recorded before the request is sent, and is used for every later request to this
 * model. Returns undefined if no form is left, or after `MAX_REPAIRS` repaired requests.
 */
export async function repairedRequest(
  state: RunState,
  asked: Asked,
  error: ModelError,
): Promise<SizedRequest | undefined> {
  const of = await requested(state, asked)
  const { decided } = of.context
  const known = repairsFor(decided, asked.thread.agent.model)
  const trial = trialOf(state, asked.thread, known)
  if (sentIn(state) >= MAX_REPAIRS) return undefined
  const run = state.held.run.id
  const sent = { run, count: (known.sent?.run === run ? known.sent.count : 0) + 1 }
  const refused = formOf(measure(of).request)
  for (const { name, ...next } of nextForms(state, known)) {
    const added = [...(trial.added ?? []), ...next.steps.filter((step) => !known.steps.includes(step))]
    const repairs = { ...known, ...next, trial: { ...trial, added }, sent }
    const repaired = withRepairs(decided, asked.thread, repairs)
    const { request, weight, scale } = measure({ ...of, context: { ...of.context, decided: repaired } })
    if (formOf(request) === refused) continue
    const tokens = tokensOf(scale, weight)
    const context = { ...repaired, decided: { at: of.head, scale: { weight, tokens, rate: scale.rate } } }
    const detail = `the model refused the request${statusText(error)}: it is sent again ${name}`
    await recordDecision(state, { context, notices: [warning(asked.thread, 'request_repaired', detail)] }, asked)
    return { request, tokens }
  }
  return undefined
}

/**
 * Returns the remaining forms, in order. If a former run was refused, the first form omits the messages that the model had not
 * accepted. Each other form adds one repair step that requests to the model do not have yet.
 */
function nextForms(state: RunState, known: Repairs): (Pick<Repairs, 'steps' | 'omitted'> & { name: string })[] {
  const { steps, omitted } = known
  const steppedForms = REPAIR_STEPS.filter((step) => !steps.includes(step)).map((step) => ({
    steps: [...steps, step],
    omitted,
    name: WITHOUT[step],
  }))
  const refused = refusedBefore(state, known)
  if (refused === undefined) return steppedForms
  const without = { steps, omitted: [...omitted, refused], name: 'without messages that it has not accepted before' }
  return [without, ...steppedForms]
}

/**
 * Returns the messages that the model had not accepted when a former run was refused in every form. Undefined if there are none,
 * or if requests omit them already.
 */
function refusedBefore({ held }: RunState, { omitted, refused }: Repairs): MessageRange | undefined {
  // A run without a new input repeats the refused turn, so the messages of that turn must be sent.
  if (refused === undefined || held.run.trigger !== 'input') return undefined
  return omitted.some(({ from, through }) => from <= refused.from && through >= refused.through) ? undefined : refused
}

/**
 * Whether an earlier run was refused in every form, and requests still contain that run's messages. If so, the first repair
 * omits these messages, unless a refusal was certainly caused by the length.
 */
export const hasRefusedMessages = (state: RunState, { thread }: Asked): boolean =>
  isLeaders(thread) && refusedBefore(state, repairsFor(state.context.decided, thread.agent.model)) !== undefined

/** Whether a repaired request of this run is recorded for the thread's next completion. */
export function isInRepair(state: RunState, { thread }: Asked): boolean {
  const { trial } = repairsFor(decidedOf(state, thread), thread.agent.model)
  return trial?.run === state.held.run.id && !hasCompletedSince(thread, trial.at)
}

/** The number of repaired requests of this run, of the leader and its members, to all models. */
const sentIn = ({ held, context: { decided } }: RunState): number =>
  Object.values(decided.repairs ?? {}).reduce((sum, { sent }) => sum + (sent?.run === held.run.id ? sent.count : 0), 0)

/**
 * Returns the trial of repairs since the thread's last completion, including repairs of an earlier run. After a completion, a
 * new trial begins: the repairs that led to the completion stay in effect.
 */
function trialOf(
  { held, writer }: RunState,
  thread: Thread,
  { trial, omitted }: Repairs,
): NonNullable<Repairs['trial']> {
  const isOpen = trial !== undefined && !hasCompletedSince(thread, trial.at)
  return isOpen ? { ...trial, run: held.run.id } : { run: held.run.id, at: writer.head(), before: omitted }
}

/** The repairs without the steps that a trial has added. */
const withoutAdded = ({ trial, ...known }: Repairs): Repairs => ({
  ...known,
  steps: known.steps.filter((step) => trial?.added?.includes(step) !== true),
})

const withRepairs = (decided: SessionContext, { agent }: Thread, repairs: Repairs): SessionContext => ({
  ...decided,
  repairs: { ...decided.repairs, [fullModelName(agent.model)]: repairs },
})

/** Returns the parts of a request that a repair may change, as a text for comparison. */
function formOf(request: ModelRequest): string {
  const wire = toWireRequest(request, undefined).request
  const describesFormat = request.responseFormat !== undefined && request.describesFormat === true
  return JSON.stringify([wire.messages, wire.tools.map(({ name }) => name), describesFormat])
}

const statusText = ({ status }: ModelError): string => (status === undefined ? '' : ` (HTTP status ${status})`)

/** Returns the error of a request that was refused in every form. It names the message that the provider means. */
export async function refusalOfMessage(state: RunState, asked: Asked, error: ModelError): Promise<ModelError> {
  const of = await requested(state, asked)
  const { messages } = of.context
  const named = messageAt(of.context.decided, messages, asked.thread, error.messageIndex)
  const message = named ?? messages.findLast(isLeaders)
  const text = message === undefined ? '' : `; the message ${message.id} (${message.role}) was not accepted`
  const { status, size, messageIndex, usage } = error
  const options = { retryable: false, cause: error, ...definedFields({ status, size, messageIndex, usage }) }
  return new ModelError(error.code, `${error.message}${text}`, options)
}

/** The message of the log that became the request's message at this index. */
function messageAt(
  decided: SessionContext,
  messages: readonly Message[],
  { agent, runId }: Thread,
  index: number | undefined,
): Message | undefined {
  if (index === undefined) return undefined
  let end = openingOf(decided).length
  const options = { currentRun: runId, replay: agent.policies.replay, context: decided, model: agent.model }
  for (const { message, sent } of replayEach(withinContext(messages, decided), options)) {
    const place = index - end
    end += sent.length
    if (index >= end || place < 0) continue
    const results = messages.filter((one) => one.role === 'tool' && one.assistantMessageId === message.id)
    return place === 0 ? message : (results[place - 1] ?? message)
  }
  return undefined
}

/**
 * Returns the context for later runs after this run was refused in every form. The context names the messages that the model has
 * not accepted. If the next run is refused as well, it first omits these messages. Undoes steps and omissions that did not help.
 */
export function contextAfterRefusal(state: RunState): SessionContext {
  const { leader, context, writer } = state
  const { model } = leader.agent
  const known = repairsFor(context.decided, model)
  const trial = trialOf(state, leader, known)
  const accepted = conversationOf(leader).findLast(
    (message) => message.role === 'assistant' && message.finishReason !== 'error' && isMadeBy(message, model),
  )
  const isTried = known.omitted.length > trial.before.length
  const refused = { from: isTried ? '' : (accepted?.id ?? ''), through: writer.head() }
  const { trial: _failed, ...decided } = context.decided
  return withRepairs(decided, leader, { ...withoutAdded({ ...known, trial }), omitted: trial.before, refused })
}

/**
 * Undoes the repair steps of a member whose request was refused in every form. The steps stay if another thread with the same
 * model has had a completion since they were added.
 */
export async function undoMembersSteps(state: RunState, member: Thread): Promise<void> {
  const decided = decidedOf(state, member)
  const known = repairsFor(decided, member.agent.model)
  const { added = [], at } = trialOf(state, member, known)
  const name = fullModelName(member.agent.model)
  const isShared = [...threadsOf(state.leader)].some(
    (one) => one !== member && fullModelName(one.agent.model) === name && hasCompletedSince(one, at),
  )
  if (added.length === 0 || isShared) return
  const context = withRepairs(decided, member, withoutAdded(known))
  await recordDecision(state, { context, notices: [] }, { thread: member, undone: added })
}
