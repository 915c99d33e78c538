import { DEFAULT_POLICIES } from '../functions/domain/agent.ts'
import type { ClosedMessage } from '../functions/domain/messages/closed-message.ts'
import { loadContext } from '../functions/agent/loop/context/context.ts'
import { createHistorySearch } from '../functions/history/search.ts'
import { continueDeletion } from '../functions/agent/worker/delete-session.ts'
import { openHarness } from '../test/agent/harness.ts'
import { printTable, timed } from './report.ts'

/**
 * Measures an imported session of 50,000 messages (or of `--messages`) on SQLite, and a session of 100 messages for
 * comparison. Measures its first turn, its next turn, its newest page, a search in it, and its deletion. Only the time
 * of the deletion may depend on the session's length.
 */
const at = process.argv.indexOf('--messages')
const MESSAGES = at === -1 ? 50_000 : Number(process.argv[at + 1])

/** Agent whose context is measured. */
const AGENT = { model: 'script/ed', modelOptions: {}, policies: { ...DEFAULT_POLICIES, contextTokens: 200_000 } }

function* turns(messages: number): Generator<ClosedMessage> {
  for (let turn = 0; turn < messages / 2; turn++) {
    yield { role: 'user', parts: [{ type: 'text', text: `where is crate ${turn}?` }] }
    yield {
      role: 'assistant',
      parts: [{ type: 'text', text: `reply ${turn} about crate ${turn % 97}` }],
      toolCalls: [],
    }
  }
}

async function measure(messages: number): Promise<(string | number)[]> {
  const harness = await openHarness({ script: [{ text: 'in the yard' }, { text: 'still there' }] })
  const { ports, key, session, service, submit, settled } = harness
  await service.importMessages(session, turns(messages), { source: 'bench' })
  const turn = async (): Promise<unknown> => settled(await submit('where is crate 42?'))
  const { messages: newest } = await ports.reader.messages(key, { order: 'descending', limit: 1 })
  const search = createHistorySearch(ports)
  const find = () => search.search({ text: 'crate 42', scope: { tenant: key.tenant }, filters: {}, limit: 10 })
  // The first search waits until the new messages are indexed.
  await find()
  const times = [
    await timed(turn),
    await timed(turn),
    await timed(() => loadContext(ports.reader, key, newest[0]?.runId ?? '', AGENT)),
    await timed(() => ports.reader.messages(key, { order: 'descending', limit: 100 })),
    await timed(find),
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
  ['messages', 'its first turn', 'the next', 'loading its context', 'its newest page', 'a search', 'its deletion'],
  [await measure(100), await measure(MESSAGES)],
)
