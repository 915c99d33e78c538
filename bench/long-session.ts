import { DEFAULT_POLICIES } from '../functions/domain/agent.ts'
import { loadContext } from '../functions/agent/loop/context.ts'
import { createHistorySearch } from '../functions/history/search.ts'
import { continueDeletion } from '../functions/agent/serving/delete-session.ts'

import { openHarness } from '../test/agent/harness.ts'
import { printTable, timed } from './report.ts'

/**
 * A session of 50,000 messages (or of `--messages`) on SQLite: what its next turn, its newest page, a search in it and its deletion
 * take, beside a session of 100. None but the deletion may depend on its length.
 */
const at = process.argv.indexOf('--messages')
const MESSAGES = at === -1 ? 50_000 : Number(process.argv[at + 1])

/** What the context is loaded for. */
const AGENT = { model: 'script/ed', modelOptions: {}, policies: { ...DEFAULT_POLICIES, contextTokens: 200_000 } }

async function measure(messages: number): Promise<(string | number)[]> {
  const texts = Array.from({ length: messages / 2 + 1 }, (_, turn) => ({
    text: `reply ${turn} about crate ${turn % 97}`,
  }))
  const harness = await openHarness({ script: texts })
  const { ports, key } = harness
  const turn = async (number: number): Promise<void> =>
    void (await harness.settled(await harness.submit(`where is crate ${number}?`)))
  for (let number = 0; number < messages / 2; number++) await turn(number)
  const { messages: newest } = await ports.reader.messages(key, { order: 'descending', limit: 1 })
  const search = createHistorySearch({ index: ports.index, reader: ports.reader })
  const times = [
    await timed(async () => turn(messages)),
    await timed(() => loadContext(ports.reader, key, newest[0]?.runId ?? '', AGENT)),
    await timed(() => ports.reader.messages(key, { order: 'descending', limit: 100 })),
    await timed(() => search.search({ text: 'crate 42', scope: { tenant: key.tenant }, filters: {}, limit: 10 })),
  ]
  const removal = await timed(async () => {
    await ports.deletion.tombstone(key)
    await continueDeletion(ports, key, Infinity)
  })
  await harness.close()
  return [String(messages), ...[...times, removal].map((time) => Math.round(time * 10) / 10)]
}

printTable(
  'A long session on SQLite, milliseconds',
  ['messages', 'a turn', 'loading its context', 'its newest page', 'a search', 'its deletion'],
  [await measure(100), await measure(MESSAGES)],
)
