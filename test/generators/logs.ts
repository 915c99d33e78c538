import { fc } from './seeded.ts'
import { nextId } from '../../functions/domain/ids.ts'
import type {
  AssistantMessage,
  AssistantPart,
  Message,
  ToolCall,
  ToolMessage,
  ToolStatus,
  UserMessage,
  UserPart,
} from '../../functions/domain/messages/message.ts'

/** Mark in texts that must never reach a model. */
export const SECRET = 'NEVER-SENT'

interface Builder {
  readonly messages: Message[]
  last: string | undefined
}

const START = 1_700_000_000_000

/** Texts of all kinds: empty, blank, with control characters, half surrogates, or other scripts. */
const text = fc.oneof(
  { weight: 6, arbitrary: fc.lorem({ maxCount: 5 }) },
  fc.constantFrom('', ' ', '\n', '\u0000', '😀', '\ud83d', '検索する', '"quoted"', '</system_note>'),
)

/** Arguments from models: valid, hard to serialise, and malformed. */
const rawArguments = fc.oneof(
  fc.json({ maxDepth: 2 }),
  fc.constantFrom(
    '',
    '{}',
    ' { "a" : 1 } ',
    '{"n":12345678901234567890,"f":4.0,"e":1e400}',
    '{"__proto__":{"a":1},"2":0,"1":0}',
    '{"a":1,"a":2}',
    '{"broken": ',
    'not json',
    '[1]',
    '"text"',
    'null',
  ),
)

const status = fc.constantFrom<ToolStatus>('completed', 'error', 'interrupted', 'cancelled', 'denied')
const openStatus = fc.constantFrom<ToolStatus>('running', 'waiting', 'approved')

/** Calls with only four ids, so that many calls have equal ids, even within one batch. */
const call = fc.record<ToolCall>({
  id: fc.constantFrom('', 'call_0', 'call_1', 'functions.shell:0'),
  name: fc.constantFrom('shell', 'read_output', 'unknown tool'),
  arguments: rawArguments,
})

interface RoundPlan {
  readonly parts: readonly AssistantPart[]
  readonly calls: readonly ToolCall[]
  readonly results: readonly { readonly status: ToolStatus; readonly text: string; readonly stored: boolean }[]
  readonly members: number
}

const spoken = fc.oneof(
  fc.record({ type: fc.constant('text' as const), text }),
  fc.record({ type: fc.constant('reasoning' as const), text, provider: fc.constant({ maker: { signature: 's' } }) }),
)

/** Plans of rounds. `open`: results may be missing or pending, as in imported logs or logs before a repair. */
const round = (open: boolean): fc.Arbitrary<RoundPlan> =>
  fc.record({
    parts: fc.array(spoken, { maxLength: 3 }),
    calls: fc.array(call, { minLength: 1, maxLength: 4 }),
    results: fc.array(
      fc.record({
        status: open ? fc.oneof({ weight: 3, arbitrary: status }, openStatus) : status,
        text,
        stored: open ? fc.integer({ min: 0, max: 4 }).map((chance) => chance > 0) : fc.constant(true),
      }),
      { minLength: 4, maxLength: 4 },
    ),
    members: fc.integer({ min: 0, max: 2 }),
  })

interface RunPlan {
  readonly input: boolean
  readonly texts: readonly string[]
  readonly media: boolean
  readonly rounds: readonly RoundPlan[]
  readonly steers: readonly boolean[]
  readonly end: 'completion' | 'error' | 'partial' | 'empty' | 'none'
  readonly completion: readonly (AssistantPart & { readonly type: 'text' | 'reasoning' })[]
}

const run = (open: boolean): fc.Arbitrary<RunPlan> =>
  fc.record({
    input: fc.integer({ min: 0, max: 5 }).map((chance) => chance > 0),
    texts: fc.array(text, { minLength: 1, maxLength: 2 }),
    media: fc.boolean(),
    rounds: fc.array(round(open), { maxLength: 3 }),
    steers: fc.array(fc.boolean(), { minLength: 3, maxLength: 3 }),
    end: fc.constantFrom('completion', 'completion', 'completion', 'error', 'partial', 'empty', 'none'),
    completion: fc.array(spoken, { minLength: 1, maxLength: 2 }),
  })

/** Logs of several runs as the loop stores them: every round has its results. */
export const settledLog: fc.Arbitrary<Message[]> = fc.array(run(false), { minLength: 1, maxLength: 4 }).map(build)

/** Logs in any state: complete, left by a crash, partly imported, or with orphaned results. */
export const anyLog: fc.Arbitrary<Message[]> = fc
  .tuple(fc.array(run(true), { minLength: 1, maxLength: 4 }), fc.integer({ min: 0, max: 3 }), fc.nat())
  .map(([plans, orphans, seed]) => withOrphans(build(plans), orphans, seed))

function build(plans: readonly RunPlan[]): Message[] {
  const builder: Builder = { messages: [], last: undefined }
  for (const [index, plan] of plans.entries()) addRun(builder, plan, index)
  return builder.messages
}

function addRun(builder: Builder, plan: RunPlan, index: number): void {
  const runId = nextId(undefined, START + index)
  if (plan.input || index === 0) addUser(builder, runId, userParts(plan))
  for (const [number, rounds] of plan.rounds.entries()) {
    addRound(builder, runId, number, rounds)
    if (plan.steers[number] === true) addUser(builder, runId, [{ type: 'text', text: `steer ${number}` }])
  }
  const failed: AssistantPart = { type: 'error', code: 'network', text: SECRET }
  const parts: { [End in RunPlan['end']]: readonly AssistantPart[] | undefined } = {
    completion: plan.completion,
    error: [failed],
    partial: [{ type: 'reasoning', text: SECRET }, { type: 'text', text: 'cut o' }, failed],
    empty: [],
    none: undefined,
  }
  const completion = parts[plan.end]
  if (completion !== undefined) addAssistant(builder, runId, plan.rounds.length, completion, [])
}

function userParts(plan: RunPlan): UserPart[] {
  const texts = plan.texts.map((words): UserPart => ({ type: 'text', text: words }))
  if (!plan.media) return texts
  const media: UserPart = { type: 'image', id: 'object', mediaType: 'image/png', filename: 'mystery.png', bytes: 3 }
  return [...texts, media, { type: 'note', text: 'the note' }]
}

const base = (builder: Builder, runId: string, round: number) => {
  builder.last = nextId(builder.last, START)
  return { id: builder.last, runId, agent: 'default', round, createdAt: START }
}

function addUser(builder: Builder, runId: string, parts: readonly UserPart[]): void {
  const message: UserMessage = { ...base(builder, runId, 0), role: 'user', parts }
  builder.messages.push(message)
}

function addAssistant(
  builder: Builder,
  runId: string,
  round: number,
  parts: readonly AssistantPart[],
  toolCalls: readonly ToolCall[],
): AssistantMessage {
  const message: AssistantMessage = { ...base(builder, runId, round), role: 'assistant', parts, toolCalls }
  builder.messages.push(message)
  return message
}

function addRound(builder: Builder, runId: string, round: number, plan: RoundPlan): void {
  const places = plan.calls.map(({ id }): AssistantPart => ({ type: 'tool_call', id }))
  const assistant = addAssistant(builder, runId, round, [...plan.parts, ...places], plan.calls)
  for (const [sequence, { id, name }] of plan.calls.entries()) {
    const result = plan.results[sequence]
    if (result?.stored !== true) continue
    builder.messages.push(toolMessage(base(builder, runId, round), assistant.id, { id, name, sequence }, result))
  }
  for (let member = 0; member < plan.members; member++) {
    const inner = addAssistant(builder, runId, member, [{ type: 'text', text: SECRET }], [])
    builder.messages[builder.messages.length - 1] = { ...inner, agent: 'member', parentToolCallId: 'call_0' }
  }
}

function toolMessage(
  common: ReturnType<typeof base>,
  assistantMessageId: string,
  call: { readonly id: string; readonly name: string; readonly sequence: number },
  result: { readonly status: ToolStatus; readonly text: string },
): ToolMessage {
  const ended = result.status === 'completed' || result.status === 'error'
  return {
    ...common,
    role: 'tool',
    assistantMessageId,
    toolCallId: call.id,
    toolName: call.name,
    call: `${call.name}()`,
    sequence: call.sequence,
    status: result.status,
    parts: ended && result.text !== '' ? [{ type: 'text', text: result.text }] : [],
    generation: 1,
  }
}

/** Results that belong to no call: they name an unknown message, another index, or another id. */
function withOrphans(messages: Message[], count: number, seed: number): Message[] {
  const tools = messages.filter((message) => message.role === 'tool')
  const orphans = Array.from({ length: count }, (_, index): ToolMessage[] => {
    const tool = tools[(seed + index) % Math.max(1, tools.length)]
    if (tool === undefined) return []
    const id = nextId(messages.at(-1)?.id, START + index)
    const strange = [{ assistantMessageId: id }, { sequence: 60 }, { sequence: 61, toolCallId: 'other' }][index % 3]
    return [{ ...tool, ...strange, id, parts: [{ type: 'text', text: SECRET }] }]
  })
  return [...messages, ...orphans.flat()]
}
