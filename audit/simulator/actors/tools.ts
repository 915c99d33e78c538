import type { Json } from '../../../functions/domain/json.ts'
import type { ToolMessage } from '../../../functions/domain/messages/message.ts'
import type { Tool, ToolContext, ToolOutput, Tools } from '../../../functions/ports/tool.ts'
import { Violation } from '../../../test/contracts/schedules/harness.ts'
import type { Snapshot } from '../../../test/contracts/snapshot.ts'
import type { Effects } from '../model.ts'
import type { CallKind } from '../scripts/script.ts'
import type { Process } from '../world/timeline.ts'
import { later, pause } from '../world/virtual-globals.ts'
import type { Harness } from '../harness.ts'

const TIMEOUT_MS = 20_000
const LARGE = 'row after row after row\n'.repeat(2_500)

/** Called when a call starts, before the call has any effect. */
export type Begun = (token: string, session: string) => void

/** Creates the tools of one process. They record their effects, and follow the faults of the script. */
export function createTools(harness: Harness, process: Process, effects: Effects, begun: Begun): Tools {
  const tool = (name: CallKind, more: Partial<Tool> = {}): [string, Tool] => [
    name,
    {
      name,
      description: name,
      parameters: { type: 'object' },
      idempotent: false,
      timeoutMs: TIMEOUT_MS,
      needsApproval: false,
      async execute(input, context) {
        process.calls++
        try {
          return await execute(harness, process, effects, begun, input, context)
        } finally {
          process.calls--
        }
      },
      ...more,
    },
  ]
  return new Map([tool('pay'), tool('read', { idempotent: true }), tool('ask', { needsApproval: true }), tool('dump')])
}

async function execute(
  harness: Harness,
  process: Process,
  effects: Effects,
  begun: Begun,
  input: Json,
  context: ToolContext,
): Promise<ToolOutput> {
  const token = tokenOf(input)
  harness.note(`${process.name} begins ${token} in ${context.session}`)
  if (token === '') harness.fail(new Violation('a call whose arguments were cut off is not executed'))
  effects.began.set(token, (effects.began.get(token) ?? 0) + 1)
  begun(token, context.session)
  harness.strike(process, 'tool', context.session)
  const fault = harness.takeFault('tool')
  if (fault !== undefined) harness.note(`${process.name} ${token} ${fault.how} (${fault.milliseconds} ms)`)
  if (fault?.how === 'hangs') await pause(process, 10_000_000, context.signal)
  else if (fault?.how === 'deaf') await new Promise<void>((resolve) => later(process, fault.milliseconds, resolve))
  else if (fault?.how === 'slow') await pause(process, fault.milliseconds, context.signal)
  else await pause(process, 5 + 3_000 * harness.dice.next('tool') ** 4, context.signal)
  effects.ended.set(token, harness.timeline.now())
  harness.note(`${process.name} has done ${token}`)
  if (fault?.how === 'throws') throw new Error(`${token} went wrong`)
  return { text: token.startsWith('dump') ? `${token}\n${LARGE}` : `done: ${token}` }
}

/** Returns the token in the arguments of a call. Empty if the arguments were truncated. */
export function tokenOf(input: Json): string {
  const isObject = typeof input === 'object' && input !== null && !Array.isArray(input)
  const token = isObject && 'token' in input ? input['token'] : undefined
  return typeof token === 'string' ? token : ''
}

/** Returns the token of a row's call. The token is in the arguments that the model sent. */
export function rowToken({ messages }: Snapshot, row: ToolMessage): string {
  const assistant = messages.find((message) => message.id === row.assistantMessageId)
  const call = assistant?.role === 'assistant' ? assistant.toolCalls[row.sequence] : undefined
  return call === undefined || call.arguments === '' ? '' : tokenOf(JSON.parse(call.arguments) as never)
}
