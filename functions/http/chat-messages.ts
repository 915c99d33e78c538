import type { RequestMedia, RequestMessage } from '../domain/model-request.ts'
import type { Message } from '../domain/message.ts'
import type { Session, SessionKey } from '../domain/session.ts'
import { toOpenAiMessages } from '../log/openai-format.ts'
import type { OpenAiMessage } from '../log/openai-format.ts'
import { replay } from '../log/replay.ts'
import type { LogReader } from '../ports/log-reader.ts'
import type { OutputStore } from '../ports/output-store.ts'
import type { AppDependencies } from './dependencies.ts'

const PAGE = 500

/**
 * A page of a session's log as Chat Completions messages, as the next request of its latest run would hold them (R6): system
 * message first where there are instructions. `from` counts messages from 0.
 */
export async function chatMessages(
  { reader, outputs, agents }: AppDependencies,
  session: Session,
  from: number,
  limit: number,
): Promise<{ messages: OpenAiMessage[]; more: boolean }> {
  const log = await wholeLog(reader, session)
  const request = replay(log, { currentRun: log.at(-1)?.runId ?? '', replay: 'full' })
  const instructions = session.instructions ?? agents.get(session.agent)?.instructions
  const system = instructions === undefined ? 0 : 1
  const page = request.slice(Math.max(0, from - system), Math.max(0, from + limit - system))
  const messages = await withMedia(outputs, session, page)
  return {
    messages: toOpenAiMessages(messages, from === 0 ? instructions : undefined),
    more: from + limit < request.length + system,
  }
}

async function wholeLog(reader: LogReader, key: SessionKey): Promise<Message[]> {
  const found: Message[] = []
  for (;;) {
    const last = found.at(-1)
    const page = await reader.messages(key, {
      order: 'ascending',
      limit: PAGE,
      ...(last === undefined ? {} : { after: last.id }),
    })
    found.push(...page.messages)
    if (!page.more) return found
  }
}

async function withMedia(
  outputs: OutputStore,
  key: SessionKey,
  messages: readonly RequestMessage[],
): Promise<RequestMessage[]> {
  const fill = async <Part extends { type: string }>(part: Part | RequestMedia): Promise<Part | RequestMedia> =>
    isMedia(part) ? { ...part, data: await outputs.read(key, part.id) } : part
  return Promise.all(
    messages.map(async (message): Promise<RequestMessage> => {
      if (message.role === 'assistant') return message
      return { ...message, parts: await Promise.all(message.parts.map((part) => fill(part))) }
    }),
  )
}

const isMedia = (part: { type: string }): part is RequestMedia => part.type === 'image' || part.type === 'file'
