import { cutBefore } from '../../../domain/session-title.ts'
import { isLeaders } from '../../../domain/messages/message.ts'
import type { AssistantPart } from '../../../domain/messages/message.ts'
import type { ModelRequest, RequestMessage, ToolDeclaration } from '../../../domain/model-request.ts'
import type { JsonFormat } from '../../../domain/runs/request-settings.ts'
import type { RunEnd } from '../../../domain/runs/run-changes.ts'
import type { WarningCode } from '../../../domain/runs/run.ts'
import { readAnswer } from '../../../log/request/answer-fit.ts'
import { faultsText } from '../../../log/request/format-text.ts'
import type { Completion } from '../../../ports/model.ts'
import type { Asked } from '../context/context.ts'
import { recordDecision } from '../record-decision.ts'
import { formatOf } from '../run-state.ts'
import type { RunState } from '../run-state.ts'
import type { NewNotice } from '../writer/run-writer.ts'
import { memberNames, roundsOf } from '../thread.ts'
import type { Thread } from '../thread.ts'
import { timeForChecks } from '../tools/call-checks.ts'
import { checkValue } from '../tools/strict-arguments.ts'
import { countUnstoredOf } from './unstored-usage.ts'

/** A completion, and the output and warnings that its check adds to the run's end. */
export interface Answer extends Completion {
  readonly end?: AnswerEnd
}

/** The output and the warnings that an answer adds to the end of its run. */
export type AnswerEnd = Pick<RunEnd, 'output'> & { readonly notices?: readonly NewNotice[] }

/** The tool choice of a thread's next round. A request's choice holds for one round of the leader. */
export function choiceOf(
  { request: { settings } }: RunState,
  thread: Thread,
  tools: readonly ToolDeclaration[],
): ModelRequest['toolChoice'] {
  const { toolChoice: choice, choiceRound = 0 } = settings ?? {}
  if (choice === undefined || !isLeaders(thread) || roundsOf(thread) !== choiceRound) return 'auto'
  if (typeof choice !== 'object') return choice
  // The chosen tool may be absent, if an MCP server provides it.
  return tools.some(({ name }) => name === choice.name) ? choice : 'auto'
}

/**
 * Checks a completion without calls against the thread's format. If it does not fit, requests it once more with the faults, and
 * with the tool choice `none`. The usage of the first completion is counted before that request, and only the second completion
 * is stored.
 */
export async function fittingAnswer(
  state: RunState,
  asked: Asked,
  completion: Completion,
  again: (asked: Asked) => Promise<Completion>,
): Promise<Answer> {
  const { thread } = asked
  const format = formatOf(state, thread)
  if (format === undefined || completion.toolCalls.length > 0) return completion
  const first = await checkAnswer(state, thread, format, completion)
  if (!('faults' in first)) return { ...completion, end: first }
  await countFirst(state, thread, completion)
  const second = await again({ ...asked, toolChoice: 'none', repeated: repeatedRequest(completion, first.faults) })
  if (second.toolCalls.length > 0) return second
  const checked = await checkAnswer(state, thread, format, second)
  return { ...second, end: 'faults' in checked ? { notices: [notOfSchema(thread, checked.faults)] } : checked }
}

/** Returns the warning for the end of a run that has a format but no final completion. */
export const withoutAnswer = (state: RunState, thread: Thread): AnswerEnd =>
  formatOf(state, thread) === undefined
    ? {}
    : { notices: [notOfSchema(thread, ['- the run ended without a checked answer'])] }

type Checked = AnswerEnd | { readonly faults: readonly string[] }

async function checkAnswer(
  state: RunState,
  thread: Thread,
  format: JsonFormat,
  { parts }: Completion,
): Promise<Checked> {
  const answer = readAnswer(format, textOf(parts))
  if ('faults' in answer || format.type === 'json_object') return 'faults' in answer ? answer : { output: answer.text }
  const { held, writer } = state
  const time = timeForChecks(state)
  try {
    const found = await checkValue(
      { run: held.run, tenant: writer.key.tenant, signal: time.signal },
      format.schema,
      answer.value,
    )
    if (typeof found !== 'string') return found.length > 0 ? { faults: found } : { output: answer.text }
    const why = found === 'unchecked' ? 'there was no time to check it' : 'its schema cannot be read in full'
    const detail = `the answer was not checked in full against the format ${format.name}: ${why}`
    return { output: answer.text, notices: [warning(thread, 'output_unchecked', detail)] }
  } finally {
    time.end()
  }
}

function notOfSchema(thread: Thread, faults: readonly string[]): NewNotice {
  const detail = `the answer does not fit the required format:\n${faults.join('\n')}`
  return warning(thread, 'output_not_of_schema', cutBefore(detail, 2_000))
}

const warning = (thread: Thread, code: WarningCode, detail: string): NewNotice => ({
  ...{ type: 'warning', code, detail },
  ...memberNames(thread),
})

/** Joins the text parts of an answer, as clients do. */
const textOf = (parts: readonly AssistantPart[]): string =>
  parts.map((part) => (part.type === 'text' ? part.text : '')).join('')

/** Returns the messages that ask again for an answer: the first answer, and its faults. */
function repeatedRequest({ parts }: Completion, faults: readonly string[]): RequestMessage[] {
  const [said, text] = [textOf(parts), faultsText(faults)]
  const question = { role: 'user', parts: [{ type: 'text', text }] } as const
  return said.trim() === '' ? [question] : [{ role: 'assistant', parts: [{ type: 'text', text: said }] }, question]
}

/**
 * Counts a completion that is requested once more: in the run, its session and the ledger. If this fails, for example because
 * the lease was lost, counts the completion only in the ledger.
 */
async function countFirst(state: RunState, thread: Thread, completion: Completion): Promise<void> {
  const { usage, model } = completion
  const work = { agent: thread.agent.name, usage, model, createdAt: state.ports.clock.now() }
  try {
    await recordDecision(state, { notices: [], work, account: state.account })
  } catch (error) {
    await countUnstoredOf(state, thread, completion)
    throw error
  }
}
