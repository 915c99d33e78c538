import type { Policies } from '../../domain/agent.ts'
import type { ModelRequest, ToolDeclaration } from '../../domain/model-request.ts'
import { roundRestarted, roundStarted } from '../../log/run-events.ts'
import { ModelError } from '../../ports/model.ts'
import type { Completion } from '../../ports/model.ts'
import { CompletionFailed, requestCompletion } from './completion-request.ts'
import { attachMedia, buildRequest, declaredTools } from './model-request.ts'
import type { RunState } from './run-state.ts'
import { ownMessages, roundOf } from './thread.ts'
import type { Thread } from './thread.ts'

/** Why a completion is cut off: no process may run for longer, or this one was told to stop. */
export class CutOff extends Error {
  readonly why: 'out_of_time' | 'told_to_stop'
  constructor(why: CutOff['why']) {
    super(why === 'out_of_time' ? 'no process may run for longer' : 'this process was told to stop')
    this.name = 'CutOff'
    this.why = why
  }
}

interface Asking {
  readonly isLast: boolean
  /** May cut the completion off, beside what stops the run. */
  readonly signal: AbortSignal
  /** Whether the completion has all the time that a process has. */
  readonly isWhole: boolean
}

/**
 * The model's next completion. Returns undefined when it was cut off: nothing of it is stored, and somebody else asks again.
 * Rejects with `CompletionFailed`, also where it had all the time that any process has, and that was not enough.
 */
export async function nextCompletion(
  state: RunState,
  thread: Thread,
  { isLast, signal, isWhole }: Asking,
): Promise<Completion | undefined> {
  try {
    return await askWithPolicy(state, thread, isLast, signal)
  } catch (error) {
    if (!(error instanceof CompletionFailed) || !(error.cause instanceof CutOff)) throw error
    if (isWhole && error.cause.why === 'out_of_time') {
      const text = 'the completion took longer than one process may run'
      throw new CompletionFailed(new ModelError('timeout', text, { retryable: false, cause: error }), error.streamed)
    }
    state.emit(roundRestarted(roundOf(thread), 'handed_over'))
    return undefined
  }
}

/**
 * Asks for a completion. One without the call that policy `require_tool` demands is asked for once more with the call forced;
 * only the second one counts.
 */
async function askWithPolicy(
  state: RunState,
  thread: Thread,
  isLast: boolean,
  signal: AbortSignal,
): Promise<Completion> {
  const { run, session } = state.held
  const { clock } = state.ports
  const { requireTool } = thread.agent.policies
  const tools = declaredTools(thread.tools, run.clientTools)
  const at = roundOf(thread)
  const target = { model: thread.model, clock, at, keeper: state.keeper, emit: state.emit }
  const ask = async (toolChoice: ModelRequest['toolChoice']): Promise<Completion> => {
    const request = buildRequest({ session, thread, tools, toolChoice })
    const messages = await attachMedia(request.messages, session, state.store.outputs)
    return requestCompletion(target, { ...request, messages }, signal)
  }
  state.emit(roundStarted(at))
  const completion = await ask(isLast ? 'none' : 'auto')
  const demanded = isLast ? undefined : demandedChoice(thread, tools)
  if (demanded === undefined || satisfies(completion.toolCalls, requireTool)) return completion
  state.emit(roundRestarted(at, 'require_tool'))
  return ask(demanded)
}

/** How to force the call that the policy demands; undefined when nothing is demanded or the run has made it. */
function demandedChoice(thread: Thread, tools: readonly ToolDeclaration[]): ModelRequest['toolChoice'] | undefined {
  const { requireTool } = thread.agent.policies
  if (requireTool === null || tools.length === 0) return undefined
  const calls = ownMessages(thread).flatMap((message) => (message.role === 'assistant' ? message.toolCalls : []))
  if (satisfies(calls, requireTool)) return undefined
  return requireTool === 'any' ? 'required' : requireTool
}

function satisfies(calls: readonly { readonly name: string }[], demanded: Policies['requireTool']): boolean {
  if (demanded === null) return true
  return demanded === 'any' ? calls.length > 0 : calls.some((call) => call.name === demanded.name)
}
