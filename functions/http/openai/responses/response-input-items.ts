import { OPEN_STATUSES } from '../../../domain/messages/message.ts'
import type { Message, ToolMessage } from '../../../domain/messages/message.ts'
import type { SessionKey } from '../../../domain/session.ts'
import type { LogReader } from '../../../ports/log-reader.ts'
import { itemsOf } from '../conversations/conversation-items.ts'
import type { ShownItem } from '../conversations/conversation-items.ts'
import type { ItemList, ItemQuery } from '../conversations/conversation-schemas.ts'
import { pageOf } from '../conversations/item-page.ts'
import { callOutputItem } from './response-items.ts'
import type { ResponsePart } from './response-run.ts'
import { asksOf, requireRun } from './response-run.ts'

/** Returns a page of a Response's input items: the outputs of calls, and then the user's message. */
export async function inputPage(reader: LogReader, shown: ResponsePart, query: ItemQuery): Promise<ItemList> {
  const { key } = shown
  const outputs = (await answeredCalls(reader, shown)).map((call): ShownItem => ({ ...callOutputItem(call) }))
  const message = await inputMessage(reader, shown)
  const said = message === undefined ? [] : await itemsOf(reader, key, [message])
  return pageOf([...outputs, ...said.map(({ item }) => item)], query)
}

/** The calls that the request has answered. All of them waited in the pause before the Response. */
async function answeredCalls(
  reader: LogReader,
  { key, runId, asked, of = runId }: ResponsePart,
): Promise<ToolMessage[]> {
  if (asked === 0) return []
  const asks = await asksOf(reader, key, await requireRun(reader, key, of))
  const calls = asks[asked - 1]?.calls ?? []
  return calls.filter(({ needs, status }) => needs === 'result' && !OPEN_STATUSES.includes(status))
}

/**
 * The user's message of the request. Undefined if the request brought outputs alone, or if its run has not started. The
 * input becomes a message when the run starts.
 */
async function inputMessage(reader: LogReader, { key, runId, asked, of }: ResponsePart): Promise<Message | undefined> {
  if (asked > 0 && (of === undefined || of === runId)) return undefined
  const run = await reader.run(key, runId)
  if (run?.mergedInto === undefined) return firstInput(reader, key, runId)
  return run.mergedAs === undefined ? undefined : reader.message(key, run.mergedAs)
}

/** The first message of a run that has started. Later inputs of the run came from other requests. */
async function firstInput(reader: LogReader, key: SessionKey, run: string): Promise<Message | undefined> {
  const { messages } = await reader.messages(key, { order: 'ascending', limit: 1, run })
  const [first] = messages
  return first?.role === 'user' ? first : undefined
}
