import { HttpAgent } from '@ag-ui/client'
import type { BaseEvent, Message, RunAgentParameters } from '@ag-ui/client'
import { expect } from 'vitest'
import { deviations } from '../conformance.ts'
import type { HttpHarness } from '../harness.ts'

/** Creates a client of the real package for this program. The package itself verifies the order of the events. */
export const agUiAgent = (harness: HttpHarness, initialMessages: Message[] = []): HttpAgent =>
  new HttpAgent({
    url: 'http://localhost:3000/v1/ag-ui/default',
    threadId: 'talk',
    initialMessages,
    fetch: async (url, init) => {
      const request = new Request(url, init as RequestInit)
      const response = await harness.program.app.fetch(request)
      expect(await deviations(harness.document, request, response)).toEqual([])
      return response
    },
  })

interface Report {
  readonly events: readonly (BaseEvent & Record<string, unknown>)[]
  readonly types: readonly string[]
}

/** Executes a run. Returns it with the events that the client received. */
export async function runAgUi(one: HttpAgent, parameters: RunAgentParameters = {}): Promise<Report> {
  const events: (BaseEvent & Record<string, unknown>)[] = []
  await one.runAgent(parameters, { onEvent: ({ event }) => void events.push(event as Report['events'][number]) })
  return { events, types: events.map(({ type }) => type) }
}

/** The ids of this tool's calls without a result. A client finds its own calls in the same way. */
export function pendingCalls({ messages }: HttpAgent, tool: string): string[] {
  const ended = new Set(messages.flatMap((one) => (one.role === 'tool' ? [one.toolCallId] : [])))
  const called = messages.flatMap((one) => (one.role === 'assistant' ? (one.toolCalls ?? []) : []))
  return called.flatMap(({ id, function: { name } }) => (name !== tool || ended.has(id) ? [] : [id]))
}

export const say = (text: string): Message => ({ id: crypto.randomUUID(), role: 'user', content: text })
