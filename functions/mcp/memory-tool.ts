import type { CallToolResult, McpServer } from '@modelcontextprotocol/server'
import { z } from 'zod'
import type { Caller } from '../access/caller.ts'
import type { OpenRequests } from '../access/open-requests.ts'
import type { AgentService } from '../agent/service/agent-service.ts'
import { isOutage, isStorageFailure, TooltrailError } from '../domain/errors.ts'
import type { HistoryEntry, Understood } from '../domain/history.ts'
import type { Message } from '../domain/messages/message.ts'
import type { Session, SessionKey } from '../domain/session.ts'
import type { Clock } from '../ports/clock.ts'
import type { HistoryIndex } from '../ports/history-index.ts'
import type { Logger } from '../ports/logger.ts'
import type { LogReader } from '../ports/log-reader.ts'
import type { OutputStore } from '../ports/output-store.ts'
import type { SessionStore } from '../ports/session-store.ts'

/** The caller of a request, and the counter of open requests. */
export interface Visit {
  readonly caller: Caller
  readonly calls: OpenRequests
}

/** Converts stored data to the resources of the HTTP API, so that MCP clients get the same fields. */
export interface Shapes {
  session(reader: LogReader, session: Session): Promise<object>
  messages(
    reader: LogReader,
    key: SessionKey,
    messages: readonly Message[],
  ): Promise<(message: Message) => Promise<object>>
  searchHit(entry: HistoryEntry): object
  understood(understood: Understood): object
}

export interface MemoryDependencies {
  readonly service: Pick<AgentService, 'search'>
  readonly sessions: SessionStore
  readonly reader: LogReader
  readonly outputs: OutputStore
  readonly index: HistoryIndex
  readonly clock: Clock
  readonly log: Logger
  readonly shapes: Shapes
}

/** The result of a tool: text for a model, and the same content for programs. */
export interface Recollection {
  readonly text: string
  readonly content: Record<string, unknown>
}

/** A reading tool of the MCP server. */
export interface MemoryTool<Input extends z.ZodObject> {
  readonly name: string
  readonly title: string
  readonly description: string
  readonly input: Input
  /** Schema of the `content` of its results. */
  readonly output: z.ZodObject
  recall(
    dependencies: MemoryDependencies,
    caller: Caller,
    input: z.output<Input>,
    signal: AbortSignal,
  ): Promise<Recollection>
}

/** Thrown if arguments fit the schema but contradict each other, or name something that does not exist. */
export class NothingToRead extends Error {
  override readonly name = 'NothingToRead'
}

/** Maximum bytes of JSON in a page of sessions or messages. Pages are limited, because a model reads them. */
export const PAGE_BYTES = 256 * 1024

/** Maximum characters of a cursor. It is short because a model has to repeat it. */
export const MAX_CURSOR_CHARS = 40

/** Builds a page in the shape of the HTTP API. */
export const pageOf = (data: readonly object[], next: string | undefined): Record<string, unknown> => ({
  object: 'list',
  data,
  next: next ?? null,
  has_more: next !== undefined,
})

/** Schema of a page with entries of this type. Entries may have more fields; `/openapi.json` describes all fields. */
export const pageSchema = (object: string, fields: Readonly<Record<string, z.ZodType>>) =>
  z.looseObject({
    object: z.literal('list'),
    data: z.array(z.looseObject({ object: z.literal(object), ...fields })),
    next: z.string().nullable().describe('Goes into `after`; null on the last page.'),
    has_more: z.boolean(),
  })

/** Returns the last line of a page's text, if there are more pages. */
export const continueWith = (next: string | undefined): string[] =>
  next === undefined ? [] : [`There is more: go on with after=${JSON.stringify(next)}.`]

/**
 * Registers a tool for one request. Every failure becomes an error result, which reveals nothing about this machine.
 */
export function addTool<Input extends z.ZodObject>(
  server: McpServer,
  dependencies: MemoryDependencies,
  { caller, calls }: Visit,
  tool: MemoryTool<Input>,
): void {
  const annotations = { title: tool.title, readOnlyHint: true, idempotentHint: true, openWorldHint: false }
  const { name, title, description } = tool
  const inputSchema: z.ZodObject = tool.input
  const outputSchema = tool.output
  const recall = async (input: z.output<Input>, signal: AbortSignal): Promise<CallToolResult> => {
    try {
      const call = await calls.open(caller)
      try {
        const { text, content } = await tool.recall(dependencies, caller, input, AbortSignal.any([signal, call.signal]))
        return { content: [{ type: 'text', text }], structuredContent: content }
      } finally {
        await call.close()
      }
    } catch (error) {
      if (!signal.aborted) report(dependencies.log, name, error)
      return { isError: true, content: [{ type: 'text', text: `error: ${reasonOf(error)}` }] }
    }
  }
  server.registerTool(name, { title, description, inputSchema, outputSchema, annotations }, (input, context) =>
    recall(input as z.output<Input>, context.mcpReq.signal),
  )
}

function report(log: Logger, tool: string, error: unknown): void {
  if (error instanceof NothingToRead) return
  if (error instanceof TooltrailError && !isOutage(error)) return
  log.error('an MCP tool failed', error, { tool })
}

function reasonOf(error: unknown): string {
  if (error instanceof NothingToRead) return error.message
  if (!(error instanceof TooltrailError)) return 'something went wrong on our side'
  return isStorageFailure(error) ? 'the storage did not respond: try again' : error.message
}
