import type { ModelRequest } from '../functions/domain/model-request.ts'
import { PNG } from '../test/fixtures/png.ts'
import { completionOf, makeTool } from '../test/agent/harness.ts'
import type { Turn } from '../test/agent/harness.ts'
import { isWrite, openDynamoHarness } from './made/dynamo-harness.ts'
import { fillerText } from './made/filler-text.ts'
import { printTable } from './report.ts'

/**
 * Measures the write requests of a turn on DynamoDB with every policy enabled. A turn has an input, two parallel calls,
 * and a final completion that cites a source. Each call returns 2 KB, an image and two sources. Aim: at most 6 write
 * requests, unless the turn consolidates.
 */
const TURNS = 80
const POLICIES = {
  contextTokens: 20_000,
  consolidation: { threshold: 40, keepRecentRatio: 0.2 },
  images: { reattach: 3 },
  sources: 'cited',
} as const

const data = Buffer.from(PNG, 'base64')
const work = makeTool('work', async (input) => {
  const { n } = input as { readonly n: number }
  const sources = [1, 2].map((place) => ({ title: `Page ${n}.${place}`, url: `https://example.org/${n}/${place}` }))
  const media = [{ type: 'image', mediaType: 'image/png', filename: `${n}.png`, data }] as const
  return { text: fillerText(2_048, n * 1_000), sources, media }
})
let number = 0
const harness = await openDynamoHarness({
  script: Array.from({ length: TURNS * 3 }, (): Turn => complete),
  tools: [work],
  policies: POLICIES,
  modelOptions: { maxOutputTokens: 1_000 },
})
const { meter, ports, key } = harness

/** The decisions that were made before the current turn: about images, about the truncation, and about the summary. */
let known: readonly unknown[] = []
/** For each combination of decisions: the numbers of write requests of the turns that made these decisions. */
const found = new Map<string, number[]>()
for (number = 1; number <= TURNS; number++) {
  const first = meter.requests.length
  const run = await harness.settled(await harness.submit(fillerText(200, number * 7)))
  const writes = meter.requests.slice(first).filter(isWrite).length
  const { media, cut, summary } = await ports.reader.context(key)
  const { notices = [] } = (await ports.reader.run(key, run.id)) ?? {}
  const decided = [media?.from, cut?.from, summary?.through]
  const changed = ['images left', 'a cut', 'a summary'].filter((_, place) => decided[place] !== known[place])
  known = decided
  const kind = [...changed, ...(notices.some(({ type }) => type === 'context.nearly_full') ? ['announced'] : [])].join(
    ', ',
  )
  found.set(kind, [...(found.get(kind) ?? []), writes])
}
await harness.close()

printTable(
  `${TURNS} turns with all policies on DynamoDB (aim: at most 6 write requests, but for turns with a summary)`,
  ['changed', 'turns', 'write requests, least', 'most'],
  [...found].map(([kind, writes]) => [kind || 'nothing', writes.length, Math.min(...writes), Math.max(...writes)]),
)

/**
 * Completes a request. The completion depends only on the request: a summary, two calls, or a text that cites the first
 * source in the request.
 */
async function* complete(request: ModelRequest): ReturnType<Extract<Turn, (...fillerText: never[]) => unknown>> {
  const last = request.messages.at(-1)
  const cited = last?.role === 'tool' ? /\[source\d+\]/.exec(JSON.stringify(last.parts))?.[0] : undefined
  const calls = [1, 2].map((index) => ({ id: `call-${index}`, name: 'work', arguments: `{"n":${number * 2 + index}}` }))
  const turn =
    request.tools.length === 0 ? { text: fillerText(2_000, number) } : cited === undefined ? { calls } : { text: cited }
  yield { type: 'completion', completion: completionOf(turn) }
}
