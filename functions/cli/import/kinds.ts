/** The programs and formats whose files can be imported. */
export const KINDS = ['claude-code', 'codex', 'openai', 'ai-sdk', 'langgraph-sqlite', 'native'] as const
export type Kind = (typeof KINDS)[number]
