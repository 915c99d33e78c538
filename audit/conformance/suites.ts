/** A conformance suite: a program in `suites/`, with the clients that it uses. */
export interface Suite {
  readonly name: string
  /** Heading in docs/reference/compatibility.md. */
  readonly title: string
  /** Option that names a folder which the suite needs. Without the option, the suite is skipped. */
  readonly needs?: 'openresponses' | 'fixtures'
  readonly args?: readonly string[]
}

/** All suites, in the order of the page. */
export const SUITES: readonly Suite[] = [
  { name: 'openresponses', title: 'Open Responses, acceptance tests', needs: 'openresponses' },
  { name: 'clients-python', title: 'Python clients of Chat Completions and Responses' },
  { name: 'clients-js', title: 'JavaScript clients of Chat Completions and Responses' },
  { name: 'ai-sdk', title: 'AI SDK, four providers' },
  { name: 'codex-cli', title: 'Codex CLI' },
  { name: 'usechat', title: 'AI SDK, useChat' },
  { name: 'agui', title: 'AG-UI and CopilotKit' },
  { name: 'mcp-conformance', title: 'MCP, official suite' },
  { name: 'mcp-clients', title: 'MCP clients' },
  { name: 'webhooks', title: 'Webhooks' },
  { name: 'openapi', title: 'OpenAPI: linters, client generators, Schemathesis' },
  { name: 'persistence-sessions', title: 'Stores of the Claude Agent SDK and Convex, as scenarios' },
  { name: 'persistence-threads', title: "LangGraph's store, as scenarios" },
  { name: 'langgraph-files', title: 'Import of LangGraph checkpoint files' },
  { name: 'session-files', title: 'Import of session files', needs: 'fixtures' },
]
