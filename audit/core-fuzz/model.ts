import { setTimeout as sleep } from 'node:timers/promises'
import type { ModelRequest } from '../../functions/domain/model-request.ts'
import { NO_USAGE } from '../../functions/domain/usage/usage.ts'
import { ModelError } from '../../functions/ports/model.ts'
import type { ModelEvent } from '../../functions/ports/model.ts'
import { completionOf } from '../../test/agent/harness.ts'
import type { Turn } from '../../test/agent/harness.ts'
import type { Dice } from '../dice.ts'

const DELEGATE = 'delegate_task_to_member'
const USAGE = { ...NO_USAGE, inputTokens: 5, outputTokens: 2, totalTokens: 7 }
const SUMMARY_USAGE = { ...NO_USAGE, inputTokens: 5, totalTokens: 5 }

/** For each agent of the team: the member to which it delegates. */
const MEMBER_OF: { readonly [agent: string]: string } = { leader: 'helper', helper: 'deep' }

/** Creates a model that checks each request, and then returns a random completion or fault. */
export function createRandomModel(dice: Dice, report: (problem: string) => void) {
  let count = 0
  let before: readonly string[] | undefined

  /** Checks that each call is followed directly by its result, and that there is no other result (promises R1). */
  function checkPairs({ messages }: ModelRequest): void {
    for (const [index, message] of messages.entries()) {
      if (message.role === 'tool' && index === 0) report('R1: a request begins with a tool result')
      if (message.role !== 'assistant') continue
      const calls = message.parts.filter((part) => part.type === 'tool_call')
      for (const [place, call] of calls.entries()) {
        const result = messages[index + 1 + place]
        if (result?.role !== 'tool' || result.toolCallId !== call.id) report('R1: a call without its result behind it')
      }
      if (messages[index + 1 + calls.length]?.role === 'tool') report('R1: more results than calls')
    }
    if (messages.at(-1)?.role === 'assistant') report('R1: a request ends with a completion')
  }

  /**
   * Checks that each request begins with the whole previous request. After a new summary, the request may begin
   * differently (promises R5).
   */
  function checkPrefix({ messages }: ModelRequest): void {
    const now = messages.map((message) => JSON.stringify(message))
    const last = before
    before = now
    if (last === undefined || last[0] !== now[0]) return
    const changed = last.findIndex((text, index) => text !== now[index])
    if (changed !== -1) report(`R5: message ${changed} changed: was ${last[changed]}, is ${now[changed]}`)
  }

  function randomCalls(agent: string, { tools, toolChoice }: ModelRequest) {
    if (toolChoice === 'none' || tools.length === 0 || !dice.chance(0.6)) return []
    return Array.from({ length: 1 + Math.floor(dice.number() * 3) }, (_, index) => {
      const { name } = dice.pick(tools)
      const id = dice.chance(0.3) ? 'same' : `c${count}-${index}`
      const input = name === DELEGATE ? { member: MEMBER_OF[agent], task: `task ${++count}` } : { n: ++count }
      return { id, name, arguments: JSON.stringify(input) }
    })
  }

  async function* summarise(): AsyncGenerator<ModelEvent, void> {
    await sleep(dice.number() * 4)
    const completion = completionOf({ text: `SUMMARY ${++count}` })
    yield { type: 'completion', completion: { ...completion, usage: SUMMARY_USAGE } }
  }

  const turnOf = (agent: string) =>
    async function* (request: ModelRequest, signal: AbortSignal): AsyncGenerator<ModelEvent, void> {
      checkPairs(request)
      if (request.tools.length === 0 && agent === 'leader') {
        yield* summarise()
        return
      }
      if (agent === 'leader') checkPrefix(request)
      await sleep(dice.number() * 8)
      signal.throwIfAborted()
      const text = `text ${++count} `
      if (dice.chance(0.5)) yield { type: 'text.delta', part: 0, text }
      if (dice.chance(0.04)) throw new ModelError('rate_limited', 'slow down', { retryable: true, retryAfterMs: 100 })
      if (dice.chance(0.04)) throw new ModelError('invalid_request', 'bad', { retryable: false })
      const completion = completionOf({ text, calls: randomCalls(agent, request) })
      yield { type: 'completion', completion: { ...completion, usage: USAGE } }
    }

  /** Returns a script that never ends. */
  return (agent: string): readonly Turn[] => new Proxy<Turn[]>([], { get: () => turnOf(agent) })
}
