import { loadContext } from '../functions/agent/loop/context.ts'
import { openHarness } from '../test/agent/harness.ts'
import { printTable, quantile, timed } from './report.ts'

/**
 * Loading a log for the next request: of 100 messages that just fill the context, and of 10,000 of the same size. Loading is bounded
 * by the context, so both must cost the same (aim: at most 1.1 x).
 */
const LOADS = 30
const TEXT = 'x'.repeat(8_000)

async function loads(messages: number): Promise<number[]> {
  const harness = await openHarness({ script: Array.from({ length: messages / 2 }, () => ({ text: TEXT })) })
  for (let turn = 0; turn < messages / 2; turn++) await harness.settled(await harness.submit(TEXT))
  const { messages: newest } = await harness.ports.reader.messages(harness.key, { order: 'descending', limit: 1 })
  const load = () => loadContext(harness.ports.reader, harness.key, newest[0]?.runId ?? '', 200_000)
  await load()
  const times: number[] = []
  while (times.length < LOADS) times.push(await timed(load))
  await harness.close()
  return times
}

const short = await loads(100)
const long = await loads(10_000)
const ratio = quantile(long, 0.5) / quantile(short, 0.5)
printTable(
  'Loading a log of 8 KB messages into a full context, milliseconds',
  ['messages', 'p50', 'p95', 'against 100'],
  [
    ['100', quantile(short, 0.5), quantile(short, 0.95), '1.00 x'],
    ['10,000', quantile(long, 0.5), quantile(long, 0.95), `${ratio.toFixed(2)} x`],
  ],
)
