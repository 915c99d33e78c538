import type { Message } from '../../domain/message.ts'
import type { SessionKey } from '../../domain/session.ts'
import type { LogReader } from '../../ports/log-reader.ts'
import { createContextWindow } from '../../log/context-window.ts'

/** Messages read at a time at the most. */
const PAGE = 500

/**
 * What a run needs of the log, ids ascending: the run itself, and as much of what was before it as fits the context. Read
 * backwards from the newest message, each page as long as what still fits: the cost is bounded by the run and the context,
 * not by the session's length (promises R7).
 */
export async function loadLog(reader: LogReader, key: SessionKey, run: string): Promise<Message[]> {
  const window = createContextWindow(run)
  let before: string | undefined
  for (;;) {
    const page = await reader.messages(key, {
      order: 'descending',
      limit: Math.min(PAGE, window.wanted()),
      ...(before === undefined ? {} : { before }),
    })
    const enough = window.add(page.messages)
    before = page.messages.at(-1)?.id
    if (enough || !page.more || before === undefined) return window.messages()
  }
}
