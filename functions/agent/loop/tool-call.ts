import { LeaseLost } from '../../domain/errors.ts'
import type { Json } from '../../domain/json.ts'
import type { Tool, ToolContext, ToolOutput } from '../../ports/tool.ts'
import { limitTime, raceAbort, withinTime } from './time-limit.ts'

/** Milliseconds that a call has for its result once the run must end; a cancel takes effect within a second. */
export const GRACE_MS = 400

export interface CallOutcome extends ToolOutput {
  readonly status: 'completed' | 'error'
}

/**
 * Executes one call. Whatever the tool does (unknown, bad arguments, a throw, a timeout, ignoring its signal) comes back as
 * an outcome for the model; it rejects only with `context.signal`'s reason, when the work itself must stop. A call that was
 * under way then has a moment to come to a result, which is kept.
 */
export async function executeCall(
  tool: Tool | undefined,
  call: { readonly name: string; readonly arguments: string },
  context: ToolContext,
): Promise<CallOutcome> {
  if (tool === undefined) return failure(`there is no tool named ${JSON.stringify(call.name)}`)
  const input = parseArguments(call.arguments)
  if (input === undefined) return failure(`the arguments are not valid JSON: ${call.arguments}`)
  const timedOut = `${call.name} did not finish within ${tool.timeoutMs / 1_000} s`
  const { signal, end } = limitTime(context.signal, tool.timeoutMs, () => new DOMException(timedOut, 'TimeoutError'))
  try {
    signal.throwIfAborted()
    const running = tool.execute(input, { ...context, signal })
    return outcomeOf(
      call.name,
      await raceAbort(running, signal).catch((error: unknown) => late(running, context, error)),
    )
  } catch (error) {
    context.signal.throwIfAborted()
    if (signal.aborted) return failure(timedOut)
    return failure(error instanceof Error ? error.message : String(error))
  } finally {
    end()
  }
}

const outcomeOf = (name: string, output: unknown): CallOutcome =>
  isToolOutput(output) ? { status: 'completed', ...output } : failure(`${name} gave no text`)

/** What a call still comes to whose run must end; under a lost lease nothing could be stored. */
async function late(running: Promise<unknown>, { signal }: ToolContext, error: unknown): Promise<unknown> {
  if (!signal.aborted || signal.reason instanceof LeaseLost) throw error
  return withinTime(GRACE_MS, 'the call', () => running)
}

/** The arguments' value; no text at all means no arguments. Undefined when they are not JSON: then no tool is executed. */
export function parseArguments(raw: string): Json | undefined {
  if (raw.trim() === '') return {}
  try {
    return JSON.parse(raw) as Json
  } catch {
    return undefined
  }
}

/** Tools come from outside this tree, too. */
function isToolOutput(output: unknown): output is ToolOutput {
  if (typeof output !== 'object' || output === null || !('text' in output)) return false
  if (typeof output.text !== 'string' || ('mediaType' in output && !isTextOrNothing(output.mediaType))) return false
  return (
    !('media' in output) || output.media === undefined || (Array.isArray(output.media) && output.media.every(isMedia))
  )
}

const isTextOrNothing = (value: unknown): boolean => value === undefined || typeof value === 'string'

const isMedia = (value: { readonly mediaType?: unknown; readonly data?: unknown } | null | undefined): boolean =>
  typeof value?.mediaType === 'string' && value.data instanceof Uint8Array

function failure(reason: string): CallOutcome {
  return { status: 'error', text: `error: ${reason}` }
}
