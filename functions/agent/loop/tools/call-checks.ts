import { cutBefore } from '../../../domain/session-title.ts'
import type { AssistantMessage, ToolCall, ToolMessage } from '../../../domain/messages/message.ts'
import type { Tool } from '../../../ports/tool.ts'
import { isWarned, warning } from '../notices.ts'
import { recordDecision } from '../record-decision.ts'
import type { RunState } from '../run-state.ts'
import { checkArguments } from './strict-arguments.ts'
import type { Checked } from './strict-arguments.ts'
import { refusalOf } from '../thread.ts'
import type { OpenThread, Thread } from '../thread.ts'
import { parseArguments } from './tool-call.ts'
import { usableClientTools } from '../model/model-request.ts'

/**
 * Time within which the checks of one round must start. A call whose check has not started by then continues unchecked.
 */
const CHECKS_MS = 10_000

/**
 * The result of checking a call of a round: the approval or client result that it waits for, or why it cannot execute.
 */
export interface CheckedCall {
  readonly needs?: ToolMessage['needs']
  /** The text for the model about arguments that do not fit the schema. */
  readonly fault?: string
  /** Set if there was no time for the check. */
  readonly isUnchecked?: true
  /** Set if the schema cannot be read in full. */
  readonly isUnreadable?: true
}

/**
 * Checks the arguments of calls that wait for a client's result or an approval. A call that does not fit the schema
 * fails, and the model may correct it. Checks of other runs delay the round by at most `CHECKS_MS`, and a cancel does
 * not wait for them.
 */
export async function checkCalls(
  state: RunState,
  thread: OpenThread,
  asked: AssistantMessage,
  calls: readonly ToolCall[],
): Promise<readonly CheckedCall[]> {
  const { writer, held } = state
  let time: TimeForChecks | undefined
  const check: Check = (tool, text) => {
    time ??= timeForChecks(state)
    return checkArguments({ run: held.run, tenant: writer.key.tenant, signal: time.signal }, tool, text)
  }
  try {
    const checked: CheckedCall[] = []
    for (const [sequence, call] of calls.entries())
      checked.push(refusalOf(thread, asked, sequence) === undefined ? await checkCall(state, thread, call, check) : {})
    return checked
  } finally {
    time?.end()
  }
}

type Check = (tool: Pick<Tool, 'name' | 'parameters'>, text: string) => Promise<Checked>

async function checkCall(
  { request }: RunState,
  { tools }: OpenThread,
  call: ToolCall,
  check: Check,
): Promise<CheckedCall> {
  const clientTool = usableClientTools(tools, request.clientTools).find((tool) => tool.name === call.name)
  if (clientTool !== undefined)
    return clientTool.strict === true ? waiting('result', await check(clientTool, call.arguments)) : { needs: 'result' }
  const tool = tools.get(call.name)
  if (tool?.needsApproval !== true) return {}
  return waiting('approval', tool.check === undefined ? await check(tool, call.arguments) : ownCheck(tool, call))
}

function ownCheck(tool: Tool, { arguments: text }: ToolCall): Checked {
  const input = parseArguments(text)
  const fault = input === undefined ? `the arguments are not valid JSON: ${text}` : tool.check?.(input)
  return fault === undefined ? {} : { fault }
}

function waiting(needs: CheckedCall['needs'], checked: Checked): CheckedCall {
  if (checked === 'unchecked') return { needs, isUnchecked: true }
  if (checked === 'unreadable') return { needs, isUnreadable: true }
  return checked.fault === undefined ? { needs } : { fault: checked.fault }
}

interface TimeForChecks {
  readonly signal: AbortSignal
  end(): void
}

/**
 * Starts the time limit for the checks of a round. The returned signal aborts when the time is over or the run must stop.
 * Until `end` is called, a watchdog with the same time runs, so that waiting for the checks does not count as stalled.
 */
export function timeForChecks({ writer, ports: { clock } }: RunState): TimeForChecks {
  const [over, ended] = [new AbortController(), new AbortController()]
  const done = writer.startWatchdog(CHECKS_MS)
  clock.sleep(CHECKS_MS, ended.signal).then(
    () => over.abort(),
    () => undefined,
  )
  return {
    signal: AbortSignal.any([over.signal, writer.signal]),
    end() {
      ended.abort()
      done()
    },
  }
}

/** Warns followers, once per tool, of waiting calls whose arguments were checked only in part or not at all. */
export async function warnOfUnchecked(
  state: RunState,
  thread: Thread,
  calls: readonly ToolCall[],
  checked: readonly CheckedCall[],
): Promise<void> {
  const reasons = calls.flatMap(({ name }, sequence) => {
    if (checked[sequence]?.isUnchecked)
      return [`there was no time to check the arguments of calls of ${cutBefore(name, 200)}`]
    if (checked[sequence]?.isUnreadable)
      return [`the arguments of calls were not checked in full, because of the schema of ${cutBefore(name, 200)}`]
    return []
  })
  const details = [...new Set(reasons)]
  const notices = details
    .filter((detail) => !isWarned(state.context.notices, detail))
    .map((detail) => warning(thread, 'arguments_unchecked', detail))
  if (notices.length > 0) await recordDecision(state, { notices })
}
