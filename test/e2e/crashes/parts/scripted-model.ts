import type { ChatRequest, OpenAiStep } from '../../../model-server/openai-server.ts'

/** `to`: the member that executes a delegate call, and the first word of its task, which selects the member's plan. */
type Call = readonly [tool: string, mark: string, to?: readonly [member: string, word: string]]

/** The tool by which a leader gives a member a task. */
export const DELEGATE = 'delegate_task_to_member'

/**
 * The model's plans, by the first word of an input. A plan has batches of calls, one after the other. After them, the
 * model completes.
 */
const PLANS: { readonly [word: string]: readonly (readonly Call[])[] } = {
  parallel: [
    [
      ['record', 'a'],
      ['lookup', 'b'],
      ['record', 'c'],
    ],
    [
      ['record', 'd'],
      ['lookup', 'e'],
    ],
  ],
  // The calls return sources. The completion after each round records the numbers of these sources, and the last
  // completion cites the first source.
  cite: [
    [
      ['found', 'a'],
      ['found', 'b'],
    ],
    [['found', 'c']],
  ],
  large: [[['big', 'l']], [['record', 'm']]],
  ask: [
    [
      ['record', 'p'],
      ['client', 'q'],
      ['client', 'r'],
    ],
  ],
  pauses: [
    [
      ['slow', 'v'],
      ['client', 'w'],
    ],
  ],
  approve: [
    [
      ['guarded', 'g'],
      ['lookup', 'h'],
    ],
  ],
  wait: [[['slow', 's']], [['record', 't']]],
  long: [[['record', 'i']], [['lookup', 'j']], [['record', 'k']]],
  // More calls than one round may execute.
  many: [Array.from({ length: 70 }, (_, place): Call => ['lookup', `n${place}`])],
  tardy: [[['tardy', 'y']]],
  flaky: [[['record', 'u']]],
  refused: [[['record', 'z']]],
  hang: [[['endless', 'x']]],
  say: [],
  // The completion lists the inputs of its request.
  recall: [],
  // Two members at once, beside a tool call of the leader.
  team: [
    [
      [DELEGATE, 'm0', ['member', 'task']],
      ['record', 'o'],
      [DELEGATE, 'm1', ['member', 'task']],
    ],
  ],
  // One member is silent in the middle of each completion, while the other member and a call continue.
  silent: [
    [
      [DELEGATE, 'm0', ['mute', 'falters']],
      ['record', 'o'],
      [DELEGATE, 'm1', ['member', 'task']],
    ],
  ],
  falters: [
    [
      ['record', 'a'],
      ['lookup', 'b'],
    ],
  ],
  // Three levels of delegation, side by side. Three calls in different members wait while other calls run.
  deep: [
    [
      [DELEGATE, 'd0', ['second', 'spread']],
      ['record', 'o'],
      [DELEGATE, 'd1', ['second', 'asks']],
    ],
  ],
  spread: [
    [
      [DELEGATE, 's0', ['third', 'digs']],
      [DELEGATE, 's1', ['third', 'approve']],
    ],
  ],
  digs: [[[DELEGATE, 't0', ['fourth', 'digger']]]],
  digger: [
    [
      ['record', 'a'],
      ['client', 'c'],
    ],
  ],
  asks: [[['client', 'q']]],
  task: [
    [
      ['record', 'a'],
      ['lookup', 'b'],
    ],
    [['record', 'c']],
  ],
}

/**
 * An input for this model. Its first word selects the plan. Its last word is part of each mark, which makes marks unique.
 */
export const inputText = (word: keyof typeof PLANS & string, unique: string): string => `${word} please ${unique}`

/** The marks of the calls that an input causes. */
export const marksOf = (word: keyof typeof PLANS & string, unique: string, tool?: string): string[] =>
  (PLANS[word] ?? []).flatMap((batch) =>
    batch.flatMap(([name, mark]) => (tool === undefined || tool === name ? [`${mark}-${unique}`] : [])),
  )

/** The completion of a `recall` input in a conversation with these inputs. */
export const recallText = (inputs: readonly string[]): string => `heard ${inputs.join(', ')}`

/** Final completion of the model. */
const completionText = (word: string, unique: string): string =>
  `all done with ${unique}${word === 'cite' ? ', says [source1]' : ''}`

/** Inputs beginning with `refused` that the model no longer refuses. */
const forgiven = new Set<string>()

/** From now on, the model completes the requests of this `refused` input. */
export const forgive = (unique: string): void => void forgiven.add(unique)

/** Earlier requests of inputs that begin with `flaky`. */
const madeBefore = new Set<string>()

/**
 * Refusals of the model. It refuses only the first request of a `flaky` input. It refuses a `refused` input until
 * `forgive` is called for that input.
 */
function refusalOf(word: string, unique: string, round: number): OpenAiStep | undefined {
  if (word === 'refused' && !forgiven.has(unique)) return { status: 400, body: { error: { message: 'refused' } } }
  const request = `${unique} ${round}`
  if (word !== 'flaky' || madeBefore.has(request)) return undefined
  madeBefore.add(request)
  return { status: 500, body: { error: { message: 'overloaded' } } }
}

/** Requests of `falters` inputs whose first completion has already stopped in the middle. */
const silencedBefore = new Set<string>()

/** Frames of a completion before the silence: a part of the text, and only some of the calls. */
const FRAMES_BEFORE_SILENCE = 4

/** Whether the model has become silent in this round of a `falters` input. */
export const hasFallenSilent = (unique: string, round: number): boolean => silencedBefore.has(`${unique} ${round}`)

/**
 * Returns the step. For the first request of a round of a `falters` input, the stream of this step
 * stops in the middle.
 */
function faltering(step: OpenAiStep, word: string, unique: string, round: number): OpenAiStep {
  const request = `${unique} ${round}`
  if (word !== 'falters' || silencedBefore.has(request) || !('completion' in step)) return step
  silencedBefore.add(request)
  return { ...step, hangAfter: FRAMES_BEFORE_SILENCE }
}

/**
 * A model whose completions depend on the request alone, so a request repeated after a crash gets the same completion. There are
 * two exceptions: the model refuses some requests for a time, and it is silent once.
 */
export function scriptedModel({ messages, tools = [], tool_choice }: ChatRequest): OpenAiStep {
  const last = messages.findLastIndex((message) => message.role === 'user')
  const text = contentOf(messages[last]?.content)
  const [word = ''] = text.split(' ')
  const unique = text.split(' ').at(-1) ?? ''
  const round = messages.slice(last + 1).filter((message) => message.role === 'assistant').length
  const refusal = refusalOf(word, unique, round)
  if (refusal !== undefined) return refusal
  const mayCall = tools.length > 0 && tool_choice !== 'none'
  const batch = mayCall ? PLANS[word]?.[round] : undefined
  if (batch === undefined) {
    const inputs = messages.flatMap(({ role, content }) => (role === 'user' ? [contentOf(content)] : []))
    const said = word === 'recall' ? recallText(inputs) : completionText(word, unique)
    const completion = { parts: [{ type: 'text' as const, text: said }] }
    return faltering({ completion }, word, unique, round)
  }
  const calls = batch.map(([name, mark, to], place) => ({
    type: 'tool_call' as const,
    id: `call-${round}-${place}-${unique}`,
    name,
    arguments: JSON.stringify(
      to === undefined ? { mark: `${mark}-${unique}` } : { member: to[0], task: inputText(to[1], `${unique}.${mark}`) },
    ),
  }))
  const completion = { parts: [{ type: 'text' as const, text: `round ${round}` }, ...calls] }
  return faltering({ completion }, word, unique, round)
}

function contentOf(content: unknown): string {
  if (typeof content === 'string') return content
  const parts = (content ?? []) as readonly { readonly text?: string }[]
  return parts.map((part) => part.text ?? '').join(' ')
}
