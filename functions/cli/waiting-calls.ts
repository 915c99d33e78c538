import type { Readable, Writable } from 'node:stream'
import { confirm, isCancel, text, updateSettings } from '@clack/prompts'
import type { Run, ToolResults } from '../client/api-types.ts'
import { harmless } from '../runtime/terminal-output.ts'

// Makes Ctrl-D end a question, as Ctrl-C does. Otherwise the prompt would never end.
updateSettings({ aliases: { '\u0004': 'cancel' } })

/** The terminal that questions are shown on. */
interface Terminal {
  readonly input: Readable
  readonly output: Writable
}

/**
 * Asks the person about each call that a run waits for. Returns undefined if the person ends a question with Ctrl-C or
 * Ctrl-D.
 */
export async function askAboutCalls(
  waiting: Run['waiting'],
  terminal: Terminal = { input: process.stdin, output: process.stderr },
): Promise<ToolResults | undefined> {
  const results: ToolResults['results'][number][] = []
  for (const { tool_call_id, message_id, tool_name, arguments: given, needs } of waiting) {
    const call = `${harmless(tool_name)} ${harmless(given)}`
    const decided =
      needs === 'approval'
        ? await confirm({ message: `Allow this call? ${call}`, initialValue: false, ...terminal })
        : await text({ message: `Result of ${call}`, ...terminal })
    if (isCancel(decided)) return undefined
    const which = { tool_call_id, message_id }
    results.push(typeof decided === 'boolean' ? { ...which, approve: decided } : { ...which, output: decided ?? '' })
  }
  return { results }
}
