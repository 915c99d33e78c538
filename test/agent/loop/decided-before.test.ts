/* Evidence, replay: An omission is stored before the request is sent, so that the next holder sends an equal request. */
import { afterEach, describe, expect, it } from 'vitest'
import type { Agent } from '../../../functions/domain/agent.ts'
import { LeaseLost } from '../../../functions/domain/errors.ts'
import type { ModelRequest } from '../../../functions/domain/model-request.ts'
import { CUT_NOTE } from '../../../functions/log/request/request-context.ts'
import { weighMessages } from '../../../functions/log/request/token-weight.ts'
import type { Ports } from '../../../functions/runtime/program.ts'
import { until } from '../../eventually.ts'
import { PNG } from '../../fixtures/png.ts'
import { completionOf, openHarness } from '../harness.ts'
import type { Harness, Turn } from '../harness.ts'

let harness: Harness
afterEach(async () => {
  harness.worker.cutOff('shutting_down')
  await harness.close()
})

const DOT = Buffer.from(PNG, 'base64')
const WORDS = 'one two three four five six seven eight nine ten '

const answer: Turn = async function* ({ messages }) {
  yield {
    type: 'completion',
    completion: completionOf({ text: WORDS, inputTokens: Math.round(weighMessages(messages)) }),
  }
}
/** A completion that is lost: the next holder requests it again. */
const lost: Turn = async function* (_request, signal) {
  yield { type: 'text.delta', part: 0, text: 'lost' }
  await new Promise((_, reject) => signal.addEventListener('abort', () => reject(new Error('cut off'))))
}

const bytes = (request: ModelRequest | undefined): string => JSON.stringify(request?.messages).slice(1, -1)
const media = (request: ModelRequest | undefined): string[] =>
  (request?.messages ?? []).flatMap(({ parts }) =>
    parts.flatMap((part) => (part.type === 'image' ? (part.filename ?? '') : [])),
  )
const isCut = (request: ModelRequest | undefined): boolean => bytes(request).includes(CUT_NOTE)

/** Aborts the current request of the run. Another process then takes over and repeats the request. Returns both requests. */
async function takenOver(run: string): Promise<[ModelRequest | undefined, ModelRequest | undefined]> {
  const other = harness.another([answer, answer])
  const left = harness.worker.handOff()
  harness.worker.cutOff('shutting_down')
  await left
  await other.worker.serve(harness.key)
  expect((await other.settled(run)).status).toBe('completed')
  return [harness.requests.at(-1), other.requests[0]]
}

/** Plays twelve turns that just fit into the context. */
async function converse(): Promise<void> {
  for (let turn = 0; turn < 12; turn++) await harness.settled(await harness.submit(`${turn} ${WORDS.repeat(10)}`))
  expect(harness.requests.some(isCut)).toBe(false)
}

describe('a decision for a request without a completion, after a takeover,', () => {
  /** Opens a session whose current request is the first request with a truncation. Returns the id of the run. */
  async function cutInProgress(policies: Partial<Agent['policies']>): Promise<string> {
    const script = [...Array.from({ length: 12 }, () => answer), lost]
    harness = await openHarness({ script, policies })
    await converse()
    const run = await harness.submit(`12 ${WORDS.repeat(60)}`)
    await until(() => harness.requests.length === 13)
    expect(isCut(harness.requests[12])).toBe(true)
    return run
  }

  it('still truncates the request, whatever joins the run meanwhile', async () => {
    const run = await cutInProgress({ contextTokens: 2_000, consolidation: false })
    await harness.submit(`13 ${WORDS.repeat(40)}`, { onBusy: 'steer' })
    const [first, second] = await takenOver(run)
    expect(bytes(second).length).toBeGreaterThan(bytes(first).length)
    expect(bytes(second).startsWith(bytes(first))).toBe(true)
  })

  it('still truncates the request under settings that would not truncate it', async () => {
    const policies = { contextTokens: 2_000, consolidation: false as const }
    const run = await cutInProgress(policies)
    policies.contextTokens = 100_000
    const [first, second] = await takenOver(run)
    expect(bytes(second)).toBe(bytes(first))
  })

  it.each([1, 3])('still omits images, even if %s are allowed', async (reattach) => {
    const shot = (filename: string) => ({ type: 'image', mediaType: 'image/png', filename, data: DOT }) as const
    const policies = { images: { reattach: 2 } }
    harness = await openHarness({ script: [answer, answer, lost], policies })
    for (const name of ['one', 'two']) await harness.settled(await harness.submit([shot(name)]))
    const run = await harness.submit([shot('three')])
    await until(() => harness.requests.length === 3)
    policies.images.reattach = reattach
    const [first, second] = await takenOver(run)
    expect(media(first)).toEqual(['two', 'three'])
    expect(media(second)).toEqual(['two', 'three'].slice(-reattach))
    if (reattach > 1) expect(bytes(second)).toBe(bytes(first))
  })
})

it('a request is not sent if its decision could not be recorded because the lease was lost', async () => {
  const without = (log: Ports['log']): Ports['log'] => ({
    ...log,
    recordDecision: async ({ session, generation }) => {
      throw new LeaseLost(session, generation)
    },
  })
  const script = Array.from({ length: 13 }, () => answer)
  const policies = { contextTokens: 2_000, consolidation: false } as const
  harness = await openHarness({ script, policies, change: (ports) => ({ ...ports, log: without(ports.log) }) })
  await converse()
  await harness.submit(`12 ${WORDS.repeat(60)}`)
  await harness.worker.idle()
  expect(harness.requests).toHaveLength(12)
})
