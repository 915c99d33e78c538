import type { ModelRequest, RequestMessage } from '../../functions/domain/model-request.ts'
import { NO_USAGE } from '../../functions/domain/usage.ts'
import type { Completion, ModelEvent, Models } from '../../functions/ports/model.ts'
import { ModelError } from '../../functions/ports/model.ts'
import type { CallKind, Input, ModelFault } from './script.ts'
import type { Process } from './timeline.ts'
import { later, pause } from './virtual-globals.ts'
import { must } from './world.ts'
import type { World } from './world.ts'

/** What happened outside of the store, by the token that each call's arguments carry. */
export interface Effects {
  readonly kinds: Map<string, CallKind>
  readonly began: Map<string, number>
  /** When it was done, in milliseconds since 1970 by the world's clock. */
  readonly ended: Map<string, number>
}

/** The model of one process: does what the input says, and what the script lets go wrong. */
export function createModels(world: World, process: Process, effects: Effects): Models {
  return {
    async open() {
      const fault = world.takeFault('model', (one) => one.how === 'unopened')
      if (fault !== undefined) {
        world.note(`${process.name} the model does not open`)
        await new Promise(() => undefined)
      }
      await pause(process, 1 + 5 * world.dice.next('model'))
      return { name: 'script/ed', stream: (request, signal) => stream(world, process, effects, request, signal) }
    },
  }
}

async function* stream(
  world: World,
  process: Process,
  effects: Effects,
  request: ModelRequest,
  signal: AbortSignal,
): AsyncGenerator<ModelEvent> {
  try {
    checkRequest(request)
  } catch (error) {
    world.fail(error)
  }
  const fault = world.takeFault('model', (one) => one.how !== 'unopened')
  if (fault !== undefined) world.note(`${process.name} the model: ${fault.how}`)
  await pause(process, 20 + 400 * world.dice.next('model'), signal)
  yield { type: 'text.delta', part: 0, text: 'well, ' }
  if (fault !== undefined) await misbehave(process, fault.how, fault.milliseconds, signal)
  else await pause(process, 2_000 * world.dice.next('model') ** 3, signal)
  yield { type: 'completion', completion: nextCompletion(world, effects, request, fault?.how) }
}

async function misbehave(process: Process, how: ModelFault, milliseconds: number, signal: AbortSignal): Promise<void> {
  if (how === 'fails') throw new ModelError('provider_error', 'the provider is down', { retryable: true })
  if (how === 'refuses') throw new ModelError('refused', 'the provider refuses', { retryable: false })
  if (how === 'breaks off') throw new ModelError('network', 'the stream broke off', { retryable: true })
  if (how === 'silent') await pause(process, 10_000_000, signal)
  if (how === 'deaf') await new Promise<void>((resolve) => later(process, milliseconds, resolve))
  if (how === 'slow') await pause(process, milliseconds, signal)
}

function nextCompletion(
  world: World,
  effects: Effects,
  request: ModelRequest,
  fault: ModelFault | undefined,
): Completion {
  const { input, round } = placeIn(request.messages)
  const kinds = request.toolChoice === 'none' ? [] : (input?.rounds[round] ?? [])
  const text = `round ${round} of ${input?.name ?? 'nothing'}`
  if (fault === 'empty') return completionOf('', [], 'stop')
  if (fault === 'cut off' && kinds[0] !== undefined)
    return completionOf(text, [{ id: 'cut', name: kinds[0], arguments: '' }], 'length')
  const calls = kinds.map((kind, place) => {
    const token = `${kind}-${effects.kinds.size + 1}`
    effects.kinds.set(token, kind)
    const id = { fresh: token, repeated: `call_${place}`, missing: '' }[input?.ids ?? 'fresh']
    return { id, name: kind, arguments: JSON.stringify({ token }) }
  })
  world.note(`the model asks for ${calls.length === 0 ? 'nothing' : calls.map((call) => call.arguments).join(' ')}`)
  return completionOf(text, calls, calls.length === 0 ? 'stop' : 'tool-calls')
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

/** The input that a request is about, and how many answers it has had. */
function placeIn(messages: readonly RequestMessage[]): { input: Input | undefined; round: number } {
  const place = messages.findLastIndex((message) => message.role === 'user')
  const text = messages[place]?.parts.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('') ?? ''
  const round = messages.slice(place + 1).filter((message) => message.role === 'assistant').length
  return { input: text.startsWith('{') ? (JSON.parse(text) as Input) : undefined, round }
}

/** Each call is followed directly by its result, in order; nothing else stands in between (promises R1). */
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
}
