import type { Agent } from '../../domain/agent.ts'
import type { HistoryScope } from '../../domain/history.ts'
import { textOf } from '../../domain/message.ts'
import type { ToolMessage } from '../../domain/message.ts'
import type { Session, SessionKey } from '../../domain/session.ts'
import { encodingOf } from '../../log/output-encoding.ts'
import type { OutputStore } from '../../ports/output-store.ts'
import type { ToolContext } from '../../ports/tool.ts'
import type { LoopDependencies } from './loop-dependencies.ts'

const POINTER = /^output:([0-9A-HJKMNP-TV-Z]{26})$/

/** What an agent may search: decided by its policy and its session, never by what a model asks for (promises H4). */
async function searchScope(
  { sessions }: Pick<LoopDependencies, 'sessions'>,
  { policies }: Agent,
  { tenant, session, owner }: Session,
): Promise<HistoryScope> {
  // Read each time: an input that has joined the run since may come from someone who sees one owner's alone.
  const wide = policies.searchScope === 'tenant'
  if (wide && (await sessions.read({ tenant, session }))?.ownerBound !== true) return { tenant }
  if (policies.searchScope !== 'session' && owner !== undefined) return { tenant, owner }
  return { tenant, session }
}

/** What a tool gets beside its input. */
export function createToolContext(
  dependencies: Pick<LoopDependencies, 'sessions' | 'reader' | 'outputs' | 'index' | 'search' | 'clock'>,
  at: { readonly session: Session; readonly agent: Agent; readonly row: ToolMessage; readonly signal: AbortSignal },
): ToolContext {
  const { reader, outputs, index, search, clock } = dependencies
  const { session, agent, row } = at
  return {
    tenant: session.tenant,
    session: session.session,
    runId: row.runId,
    agent: row.agent,
    toolCallId: row.toolCallId,
    signal: at.signal,
    now: () => clock.now(),
    async searchHistory(text, filters, limit) {
      const scope = await searchScope(dependencies, agent, session)
      return search({ scope, text, filters: { ...filters, notRun: row.runId }, limit })
    },
    async readOutput(pointer) {
      const id = POINTER.exec(pointer)?.[1]
      if (id === undefined) return undefined
      const own = await reader.message(session, id)
      const holder =
        own === undefined ? await index.locate(await searchScope(dependencies, agent, session), id) : session.session
      if (holder === undefined) return undefined
      const key = { tenant: session.tenant, session: holder }
      const message = own ?? (await reader.message(key, id))
      if (message?.role !== 'tool') return undefined
      return { text: await outputText(outputs, key, message), toolName: message.toolName, session: holder }
    },
  }
}

/** The whole text of a tool result, read back from the output store when it was offloaded. */
async function outputText(outputs: OutputStore, key: SessionKey, message: ToolMessage): Promise<string> {
  if (message.output?.object === undefined) return textOf(message.parts)
  const { object, mediaType } = message.output
  return Buffer.from(await outputs.read(key, object)).toString(encodingOf(mediaType))
}
