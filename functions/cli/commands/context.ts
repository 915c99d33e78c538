import type { Client } from '../../client/client.ts'
import { bar, oneLine, onOutput, print, printJson } from '../terminal.ts'
import { harmless } from '../../runtime/terminal-output.ts'

/** Shows the content of a session's next request. */
export async function showContext(
  client: Client,
  session: string,
  { json = false }: { readonly json?: boolean },
): Promise<void> {
  const context = await client.readContext(session)
  if (json) return printJson(context)
  const { estimated_tokens: estimated, context_tokens: most, summary, omitted } = context
  print(`agent    ${harmless(context.agent)}\nmodel    ${harmless(context.model)}\n`)
  print(`tokens   ${bar(estimated / most)} about ${estimated.toLocaleString('en')} of ${most.toLocaleString('en')}\n`)
  const originals = new Map(context.mapped_tools?.map((tool) => [tool.name, tool.original_name]))
  const tools = context.tools.map((name) => (originals.has(name) ? `${name} (${originals.get(name)})` : name))
  print(`tools    ${tools.map(harmless).join(', ') || 'none'}\n`)
  if (summary !== null) print(`summary  of ${summary.messages} messages: ${oneLine(summary.text, 300)}\n`)
  if (omitted.messages > 0) print(`left out ${omitted.messages} messages that no longer fit; search finds them\n`)
  if (context.instructions !== null) print(`\n${onOutput('bold', 'system')}\n${harmless(context.instructions)}\n`)
  for (const message of context.messages)
    print(`\n${onOutput('bold', message.role)}\n${harmless(contentOf(message))}\n`)
}

/** The text of a Chat Completions message, and its calls. */
function contentOf(message: object): string {
  const { content, tool_calls: calls } = message as { content?: unknown; tool_calls?: unknown }
  const text =
    typeof content === 'string' ? content : content === null || content === undefined ? '' : JSON.stringify(content)
  return [text, calls === undefined ? '' : JSON.stringify(calls)].filter((part) => part !== '').join('\n')
}
