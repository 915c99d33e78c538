import type { Json } from '../../domain/json.ts'
import type { Tool, ToolContext, ToolOutput } from '../../ports/tool.ts'
import { limitTime } from './time-limit.ts'

export interface CallOutcome extends ToolOutput {
  readonly status: 'completed' | 'error'
}

/**
 * Executes one call. Whatever the tool does (unknown, bad arguments, a throw, a timeout, ignoring its signal) comes back as
 * an outcome for the model; it rejects only with `context.signal`'s reason, when the work itself must stop.
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
    const output: unknown = await Promise.race([tool.execute(input, { ...context, signal }), rejectOnAbort(signal)])
    if (!isToolOutput(output)) return failure(`${call.name} gave no text`)
    return { status: 'completed', ...output }
  } catch (error) {
    context.signal.throwIfAborted()
    if (signal.aborted) return failure(timedOut)
    return failure(error instanceof Error ? error.message : String(error))
  } finally {
    end()
  }
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

function rejectOnAbort(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true })
  })
}
