import { completionOf, makeTool } from '../test/agent/harness.ts'
import type { Turn } from '../test/agent/harness.ts'
import type { ModelRequest } from '../functions/domain/model-request.ts'
import type { ModelEvent } from '../functions/ports/model.ts'
import { isWrite, openDynamoHarness } from './made/dynamo-harness.ts'
import type { MeteredRequest } from './made/dynamo-meter.ts'
import { fillerText } from './made/filler-text.ts'
import { printTable } from './report.ts'

/**
 * Measures the costs of a turn on AWS: requests, bytes and units at turns 1 to 500 of one session with an owner. In the
 * printed turns, the model takes 4 s, so that requests during its work are counted too. A turn of about 5 KB goes
 * through the real loop and adapters to DynamoDB Local. It has an input of 200 B, two parallel calls with results of 2
 * KB, and a final completion of 500 B.
 *
 * Writes must stay flat: turn 500 may have at most 1.02 x the writes of turn 1. A turn has at most 6 requests, unless
 * it consolidates. Reads are bounded by the conversation since its last summary.
 */
const TURNS = 500
/**
 * Printed turns. Before turn 52, the log has more than 100 messages, so turn 52 begins with a summary. After turn 52,
 * every 41st turn begins with a summary.
 */
const SHOWN = [1, 10, 51, 52, 100, 500]
/** The turn whose requests are printed. */
const TRACED = 100
/**
 * On-demand list prices of us-east-1 in US dollars: per million units, per million requests, per GB-second, and per
 * GB-month.
 */
const PRICES = {
  writeUnits: 0.625,
  readUnits: 0.125,
  apiRequests: 3.5,
  lambdaRequests: 0.2,
  lambdaSecond: 0.0000133334,
  storedGigabyte: 0.25,
  logGigabyte: 0.5,
} as const
/** Duration of each of the two model requests in a printed turn. */
const MODEL_MS = 2_000
const LOG_BYTES_OF_A_TURN = 2_048

interface Mark {
  readonly at: number
  readonly text: string
}

const marks: Mark[] = []
const mark = (text: string): void => void marks.push({ at: meter.now(), text })

let shown = false
/** Turns that began with a summary. */
const summaries: number[] = []
let seconds = 0
let number = 0
/** Each turn has two rounds. Some turns begin with a summary. */
const script = Array.from({ length: TURNS * 3 }, (): Turn => complete)
const work = makeTool('work', async (input) => {
  mark('tool begins')
  return { text: fillerText(2_048, (input as { n: number }).n * 1_000) }
})
const harness = await openDynamoHarness({ script, tools: [work] })
const { meter } = harness

const turns: { readonly number: number; readonly requests: readonly MeteredRequest[] }[] = []
for (number = 1; number <= TURNS; number++) {
  const first = meter.requests.length
  marks.length = 0
  shown = SHOWN.includes(number)
  const begun = performance.now()
  const run = await harness.submit(fillerText(200, number * 7))
  await harness.settled(run)
  const requests = meter.requests.slice(first)
  if (shown) turns.push({ number, requests })
  if (number !== TRACED) continue
  seconds = (performance.now() - begun) / 1_000
  printTrace(requests)
}
await harness.close()

printTurns()
printCost()

/** Completes a request. The completion depends only on the request: a summary, two calls, or a text after their results. */
async function* complete(request: ModelRequest): AsyncGenerator<ModelEvent, void> {
  const isSummary = request.tools.length === 0
  mark(isSummary ? 'model is asked for a summary' : 'model is asked')
  if (isSummary) summaries.push(number)
  else if (shown) await new Promise((resolve) => setTimeout(resolve, MODEL_MS))
  const calls = [1, 2].map((index) => ({ id: `call-${index}`, name: 'work', arguments: `{"n":${number * 2 + index}}` }))
  const isAnswer = isSummary || request.messages.at(-1)?.role === 'tool'
  const turn = isAnswer ? { text: fillerText(isSummary ? 2_000 : 500, number) } : { calls }
  if (turn.text !== undefined) yield { type: 'text.delta', part: 0, text: turn.text }
  yield { type: 'completion', completion: completionOf(turn) }
}

/**
 * Prints the requests and marks of a turn in order of time. If a request ends before the next mark, the loop awaits
 * it.
 */
function printTrace(requests: readonly MeteredRequest[]): void {
  const origin = requests[0]?.begun ?? 0
  const lines = [
    ...requests.map(({ name, begun, ended }) => ({
      at: begun,
      text: name,
      until: ended === 0 ? undefined : ended - origin,
    })),
    ...marks.map(({ at, text }) => ({ at, text: `— ${text}`, until: undefined })),
  ].toSorted((left, right) => left.at - right.at)
  printTable(
    `Requests of turn ${TRACED}, milliseconds since its first`,
    ['begins', 'ends', 'request'],
    lines.map(({ at, text, until }) => [(at - origin).toFixed(1), until?.toFixed(1) ?? '', text]),
  )
}

function totals(requests: readonly MeteredRequest[]) {
  const writes = requests.filter(isWrite)
  const sum = (of: readonly MeteredRequest[], field: 'up' | 'down' | 'writeUnits' | 'readUnits'): number =>
    of.reduce((total, request) => total + request[field], 0)
  return {
    writes: writes.length,
    reads: requests.length - writes.length,
    up: sum(writes, 'up'),
    down: sum(requests, 'down'),
    writeUnits: sum(writes, 'writeUnits'),
    readUnits: sum(requests, 'readUnits'),
  }
}

function printTurns(): void {
  const rows = turns.map(({ number, requests }) => ({ number, ...totals(requests) }))
  const [first, last] = [rows[0], rows.at(-1)]
  if (first === undefined || last === undefined) throw new Error('no turn was measured')
  const ratio = (field: 'writes' | 'up' | 'writeUnits'): string => `${(last[field] / first[field]).toFixed(3)} x`
  printTable(
    'A turn of about 5 KB on DynamoDB',
    ['turn', 'write requests', 'bytes written up', 'write units', 'read requests', 'bytes down', 'read units'],
    [
      ...rows.map((row) => [row.number, row.writes, row.up, row.writeUnits, row.reads, row.down, row.readUnits]),
      [`${last.number} : 1`, ratio('writes'), ratio('up'), ratio('writeUnits'), '', 'bounded by the last summary', ''],
      ['aim', '≤ 6, ≤ 1.020 x', '≤ 1.020 x', '≤ 1.020 x', '', '', ''],
    ],
  )
  console.log(`turns that began with a summary: ${summaries.join(', ')}`)
}

function printCost(): void {
  const middle = turns.find(({ number }) => number === TRACED)
  if (middle === undefined) throw new Error(`turn ${TRACED} was not measured`)
  const { writeUnits, readUnits } = totals(middle.requests)
  const stored = Math.round(meter.storedBytes() / TURNS)
  const rows: readonly [string, string, number][] = [
    ['DynamoDB, writes', `${writeUnits} units x $${PRICES.writeUnits}`, writeUnits * PRICES.writeUnits],
    ['DynamoDB, reads', `${readUnits} units x $${PRICES.readUnits}`, readUnits * PRICES.readUnits],
    ['API Gateway, requests', `1 x $${PRICES.apiRequests}`, PRICES.apiRequests],
    ['Lambda, requests', `api 1 + indexer ≤ 5, x $${PRICES.lambdaRequests}`, 6 * PRICES.lambdaRequests],
    [
      'Lambda, time',
      `${seconds.toFixed(1)} s x 1 GB x $${PRICES.lambdaSecond} x 10^6`,
      seconds * PRICES.lambdaSecond * 1e6,
    ],
    [
      'logs',
      `${LOG_BYTES_OF_A_TURN} B x 10^6 x $${PRICES.logGigabyte} a GB`,
      (LOG_BYTES_OF_A_TURN / 1e3) * PRICES.logGigabyte,
    ],
    [
      'DynamoDB, kept a month',
      `${stored} B x 10^6 x $${PRICES.storedGigabyte} a GB`,
      (stored / 1e3) * PRICES.storedGigabyte,
    ],
  ]
  const total = rows.reduce((sum, [, , dollars]) => sum + dollars, 0)
  printTable(
    `US dollars for a million such turns (list prices, us-east-1), without the model and the search engine; turn ${TRACED}`,
    ['what', 'arithmetic', 'dollars'],
    [...rows.map(([what, how, dollars]) => [what, how, dollars.toFixed(2)]), ['all', '', total.toFixed(2)]],
  )
}
