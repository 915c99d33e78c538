import type { ModelRequest, RequestMessage } from '../../functions/domain/model-request.ts'
import { DELEGATE_TOOL } from '../../functions/domain/runs/team.ts'
import { NO_USAGE } from '../../functions/domain/usage/usage.ts'
import { SUMMARY_PROMPT } from '../../functions/log/request/summary-prompt.ts'
import type { Completion, ModelEvent, Models } from '../../functions/ports/model.ts'
import { ModelError } from '../../functions/ports/model.ts'
import { summaryOf } from './actors/said.ts'
import type { CallKind, Input, ModelFault } from './scripts/script.ts'
import type { Process } from './world/timeline.ts'
import { later, pause } from './world/virtual-globals.ts'
import { must } from './harness.ts'
import type { Harness } from './harness.ts'

/** If the model is instructed to stay silent for longer than this, it never responds. */
const DEAF_FOR_EVER_MS = 20_000

/** Effects of tools outside the store. The key is the token in the arguments of the call. */
export interface Effects {
  readonly kinds: Map<string, CallKind>
  readonly began: Map<string, number>
  /** The time at which each effect ended, in virtual milliseconds since 1970. */
  readonly ended: Map<string, number>
}

/** Creates the model of one process. It follows the instructions in the input and the faults of the script. */
export function createModels(
  harness: Harness,
  process: Process,
  effects: Effects,
  check: (request: ModelRequest) => void,
): Models {
  return {
    async open() {
      const fault = harness.takeFault('model', (one) => one.how === 'unopened')
      if (fault !== undefined) {
        harness.note(`${process.name} the model does not open`)
        await new Promise(() => undefined)
      }
      await pause(process, 1 + 5 * harness.dice.next('model'))
      return {
        name: 'script/ed',
        stream: (request, signal) => stream(harness, process, effects, check, request, signal),
      }
    },
  }
}

const isForSummary = ({ instructions }: ModelRequest): boolean => instructions === SUMMARY_PROMPT

async function* stream(
  harness: Harness,
  process: Process,
  effects: Effects,
  check: (request: ModelRequest) => void,
  request: ModelRequest,
  signal: AbortSignal,
): AsyncGenerator<ModelEvent> {
  try {
    checkRequest(request)
    if (!isForSummary(request)) check(request)
  } catch (error) {
    harness.fail(error)
  }
  const fault = harness.takeFault('model', (one) => one.how !== 'unopened')
  if (fault !== undefined) harness.note(`${process.name} the model: ${fault.how}`)
  await pause(process, 20 + 400 * harness.dice.next('model'), signal)
  yield { type: 'text.delta', part: 0, text: 'well, ' }
  if (fault !== undefined) await misbehave(process, fault.how, fault.milliseconds, signal)
  else await pause(process, 2_000 * harness.dice.next('model') ** 3, signal)
  yield { type: 'completion', completion: nextCompletion(harness, effects, request, fault?.how) }
}

async function misbehave(process: Process, how: ModelFault, milliseconds: number, signal: AbortSignal): Promise<void> {
  if (how === 'fails') throw new ModelError('provider_error', 'the provider is down', { retryable: true })
  if (how === 'refuses') throw new ModelError('refused', 'the provider refuses', { retryable: false })
  if (how === 'breaks off') throw new ModelError('network', 'the stream broke off', { retryable: true })
  if (how === 'silent') await pause(process, 10_000_000, signal)
  if (how === 'deaf')
    await new Promise<void>((resolve) => {
      if (milliseconds < DEAF_FOR_EVER_MS) later(process, milliseconds, resolve)
    })
  if (how === 'slow') await pause(process, milliseconds, signal)
}

function nextCompletion(
  harness: Harness,
  effects: Effects,
  request: ModelRequest,
  fault: ModelFault | undefined,
): Completion {
  const { input, round } = placeIn(request.messages)
  const kinds = request.toolChoice === 'none' && input?.disobeys !== true ? [] : (input?.rounds[round] ?? [])
  const text = `round ${round} of ${input?.name ?? 'nothing'}`
  if (fault === 'empty') return completionOf('', [], 'stop')
  if (isForSummary(request)) return completionOf(summaryOf(request), [], 'stop')
  if (fault === 'cut off' && kinds[0] !== undefined)
    return completionOf(
      text,
      [{ id: 'cut', name: kinds[0] === 'team' ? DELEGATE_TOOL : kinds[0], arguments: '' }],
      'length',
    )
  const calls = kinds.map((kind, place) => {
    if (kind === 'team') return delegateCall(request, input, place)
    const token = `${kind}-${effects.kinds.size + 1}`
    effects.kinds.set(token, kind)
    const id = { fresh: token, repeated: `call_${place}`, missing: '' }[input?.ids ?? 'fresh']
    return { id, name: kind, arguments: JSON.stringify({ token }) }
  })
  harness.note(`the model asks for ${calls.length === 0 ? 'nothing' : calls.map((call) => call.arguments).join(' ')}`)
  return completionOf(text, calls, calls.length === 0 ? 'stop' : 'tool-calls')
}

/**
 * Builds a delegate call to the first member, with the member's instructions. Like many models, it uses an equal call
 * id in every round.
 */
function delegateCall(
  { tools }: ModelRequest,
  input: Input | undefined,
  place: number,
): Completion['toolCalls'][number] {
  const declared = tools.find(({ name }) => name === DELEGATE_TOOL)?.parameters as
    | { readonly properties: { readonly member: { readonly enum: readonly string[] } } }
    | undefined
  const member = declared?.properties.member.enum[0] ?? 'nobody'
  const id = input?.ids === 'missing' ? '' : `team_${place}`
  return { id, name: DELEGATE_TOOL, arguments: JSON.stringify({ member, task: JSON.stringify(input?.team) }) }
}

function completionOf(text: string, toolCalls: Completion['toolCalls'], finishReason: string): Completion {
  const parts = text === '' ? [] : [{ type: 'text', text } as const]
  return {
    parts: [...parts, ...toolCalls.map(({ id }) => ({ type: 'tool_call', id }) as const)],
    toolCalls,
    model: 'script/ed',
    finishReason,
    usage: { ...NO_USAGE, totalTokens: 10 },
  }
}

/** Finds the newest input in a request, and the number of completions after this input. */
function placeIn(messages: readonly RequestMessage[]): { input: Input | undefined; round: number } {
  const place = messages.findLastIndex((message) => message.role === 'user')
  const text = messages[place]?.parts.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('') ?? ''
  const round = messages.slice(place + 1).filter((message) => message.role === 'assistant').length
  return { input: text.startsWith('{') ? (JSON.parse(text) as Input) : undefined, round }
}

/** Checks that each call is followed directly by its result, in order (promises R1). */
function checkRequest({ messages }: ModelRequest): void {
  let expected: string[] = []
  for (const message of messages) {
    if (message.role === 'tool') {
      const next = expected.shift()
      must('a request gives each call one result, in order', message.toolCallId === next, message.toolCallId)
      continue
    }
    must('a request gives each call its result at once', expected.length === 0, expected[0])
    if (message.role === 'assistant')
      expected = message.parts.flatMap((part) => (part.type === 'tool_call' ? [part.id] : []))
  }
  must('a request gives each call its result', expected.length === 0, expected[0])
  must('a request says something', messages.length > 0)
  must('a request ends with what somebody else said', messages.at(-1)?.role !== 'assistant')
}
