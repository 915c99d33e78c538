import { weighMessages } from '../functions/log/request/token-weight.ts'
import type { Agent } from '../functions/domain/agent.ts'
import { completionOf, makeTool, openHarness } from '../test/agent/harness.ts'
import type { Turn } from '../test/agent/harness.ts'
import { fillerText } from './made/filler-text.ts'
import { printTable, quantile, timed } from './report.ts'

/**
 * Measures the duration of a turn and the size of its request, in sessions of 100 to 100,000 messages on SQLite, with
 * and without consolidation.
 *
 * The first measured turn makes a decision: a summary or a truncation. Later turns repeat this decision, so their time
 * may depend only on the context. Aim: at most 1.1 x the time with 100 messages, and no further decision.
 */
const LENGTHS = [100, 10_000, 100_000]
/** Number of turns after the first one. It is lower than the number of turns between two summaries. */
const TURNS = 15
const CHARACTERS = 500

async function measure(
  messages: number,
  consolidation: Agent['policies']['consolidation'],
): Promise<(string | number)[]> {
  let summaries = 0
  const complete: Turn = async function* (request) {
    const isSummary = request.tools.length === 0
    if (isSummary) summaries++
    yield { type: 'completion', completion: completionOf({ text: fillerText(isSummary ? 2_000 : CHARACTERS, 7) }) }
  }
  const script = Array.from({ length: 2 * TURNS + 8 }, () => complete)
  const tools = [makeTool('work', async () => ({ text: '' }))]
  const harness = await openHarness({ script, tools, policies: { consolidation } })
  const { service, session, ports, key } = harness
  await service.importMessages(session, closed(messages), {})
  const decisions = [JSON.stringify({})]
  const turn = async (): Promise<void> => {
    await harness.settled(await harness.submit('and now?'))
    decisions.push(JSON.stringify(await ports.reader.context(key)))
  }
  const begun = await timed(turn)
  const times: number[] = []
  while (times.length < TURNS) times.push(await timed(turn))
  const tokens = weighMessages(harness.requests.at(-1)?.messages ?? [])
  await harness.close()
  const [first = 0, ...later] = decisions.slice(1).map((now, turn) => (now === decisions[turn] ? 0 : 1))
  return [
    ...[messages.toLocaleString('en'), consolidation === false ? 'no' : 'yes'],
    ...[begun, quantile(times, 0.5), tokens, first, later.filter((one) => one > 0).length, summaries],
  ]
}

function* closed(count: number) {
  for (let place = 0; place < count; place++) {
    const parts = [{ type: 'text' as const, text: fillerText(CHARACTERS, place) }]
    if (place % 2 === 0) yield { role: 'user' as const, parts }
    else yield { role: 'assistant' as const, parts, toolCalls: [] }
  }
}

const rows: (string | number)[][] = []
for (const consolidation of [false, { threshold: 100, keepRecentRatio: 0.2 }] as const)
  for (const length of LENGTHS) rows.push(await measure(length, consolidation))
printTable(
  `A turn after so many messages of ${CHARACTERS} characters, milliseconds`,
  [
    'messages',
    'consolidated',
    'first turn',
    'a later one',
    'tokens of its request',
    'decided first',
    'decided later',
    'summaries',
  ],
  rows,
)
