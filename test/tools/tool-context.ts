import type { ToolContext } from '../../functions/ports/tool.ts'

/** The context of a tool, with an empty history. Override the fields that the test is about. */
export function toolContext(given: Partial<ToolContext> = {}): ToolContext {
  return {
    tenant: 'default',
    session: 's1',
    runId: '01ARZ3NDEKTSV4RRFFQ69G5FAV',
    agent: 'default',
    toolCallId: 'call-1',
    signal: new AbortController().signal,
    now: () => Date.UTC(2026, 10, 22, 0, 48, 20, 5),
    progressed: () => undefined,
    searchHistory: async () => ({ entries: [], understood: { terms: [] } }),
    readOutput: async () => undefined,
    ...given,
  }
}
