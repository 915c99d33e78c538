import type { Policies } from '../../domain/agent.ts'
import type { StopReason } from '../../domain/run.ts'
import type { ModelRequest, ToolDeclaration } from '../../domain/model-request.ts'
import type { Completion } from '../../ports/model.ts'
import { requestCompletion } from './completion-request.ts'
import { attachMedia, buildRequest } from './build-request.ts'
import type { LoopDependencies } from './loop-dependencies.ts'
import { roundsOf, runMessages } from './run-state.ts'
import type { RunState } from './run-state.ts'

/** Why this round must be the run's last, if it must. */
export function lastRoundReason(state: RunState): Extract<StopReason, 'max_rounds' | 'budget'> | undefined {
  const { maxRounds, maxRunTokens } = state.agent.policies
  if (roundsOf(state) >= maxRounds) return 'max_rounds'
  if (maxRunTokens !== null && tokensOf(state) >= maxRunTokens) return 'budget'
  return undefined
}

function tokensOf(state: RunState): number {
  return runMessages(state).reduce(
    (sum, message) => sum + (message.role === 'assistant' ? (message.usage?.totalTokens ?? 0) : 0),
    0,
  )
}

/**
 * The model's next answer. An answer without the call that policy `require_tool` demands is asked for once more with the call
 * forced; only the second one counts. Rejects with `CompletionFailed`.
 */
export async function nextCompletion(
  dependencies: LoopDependencies,
  state: RunState,
  tools: readonly ToolDeclaration[],
  isLast: boolean,
): Promise<Completion> {
  const round = roundsOf(state)
  const { run } = state.held
  const target = { model: state.model, clock: dependencies.clock, runId: run.id, round, emit: state.emit }
  const ask = async (toolChoice: ModelRequest['toolChoice']): Promise<Completion> => {
    const request = buildRequest({ ...state, run, tools, toolChoice })
    return requestCompletion(target, await attachMedia(request, state.session, dependencies.outputs), state.signal)
  }
  state.emit({ type: 'round.started', runId: run.id, round })
  const completion = await ask(isLast ? 'none' : 'auto')
  const demanded = isLast ? undefined : demandedChoice(state, tools)
  if (demanded === undefined || satisfies(completion.toolCalls, state.agent.policies.requireTool)) return completion
  state.emit({ type: 'round.restarted', runId: run.id, round, reason: 'require_tool' })
  return ask(demanded)
}

/** How to force the call that the policy demands; undefined when nothing is demanded or the run has made it. */
function demandedChoice(state: RunState, tools: readonly ToolDeclaration[]): ModelRequest['toolChoice'] | undefined {
  const { requireTool } = state.agent.policies
  if (requireTool === null || tools.length === 0) return undefined
  const calls = runMessages(state).flatMap((message) => (message.role === 'assistant' ? message.toolCalls : []))
  if (satisfies(calls, requireTool)) return undefined
  return requireTool === 'any' ? 'required' : requireTool
}

function satisfies(calls: readonly { readonly name: string }[], demanded: Policies['requireTool']): boolean {
  if (demanded === null) return true
  return demanded === 'any' ? calls.length > 0 : calls.some((call) => call.name === demanded.name)
}
