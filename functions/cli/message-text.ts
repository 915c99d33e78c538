import type { Message } from '../client/api-types.ts'
import { callOf } from './run-printer.ts'
import { localTime, onOutput } from './terminal.ts'
import { harmless } from '../runtime/terminal-output.ts'

const MAX_SHOWN_CHARACTERS = 4_000

/** Formats a message for a terminal. */
export function messageText(message: Message): string {
  const member = message.parent_tool_call_id === undefined ? '' : ` [${harmless(message.agent)}]`
  const replaced = message.superseded_by === undefined ? '' : ` (replaced by run ${message.superseded_by})`
  const head = onOutput('dim', `${localTime(message.created_at)} ${message.id}${member}${replaced}`)
  if (message.role !== 'tool') return `${head}\n${onOutput('bold', message.role.toUpperCase())} ${bodyOf(message)}\n`
  const time = message.duration_ms === undefined ? '' : `, ${message.duration_ms} ms`
  const state = onOutput(message.status === 'completed' ? 'green' : 'yellow', `${message.status ?? ''}${time}`)
  return `${head}\n${onOutput('bold', 'TOOL')} ${callOf(message)} ${state}\n${bodyOf(message)}\n`
}

function bodyOf(message: Message): string {
  const parts = message.parts.map((part) => {
    if (part.type === 'tool_call') return undefined
    if (part.type === 'data') return shortened(JSON.stringify(part.data ?? null))
    if (part.type === 'error') return onOutput('red', `${part.code}: ${harmless(part.text)}`)
    if (part.type === 'reasoning') return onOutput('dim', `(thinking) ${shortened(part.text)}`)
    if ('text' in part) return shortened(part.text)
    return `[${part.type} ${harmless(part.filename ?? part.media_type)}, ${part.bytes} bytes]`
  })
  const calls = (message.tool_calls ?? []).map((call) =>
    onOutput('cyan', `→ ${harmless(call.name)} ${shortened(call.arguments)}`),
  )
  const output =
    message.output?.offloaded === true
      ? [onOutput('dim', `whole output: ${message.output.bytes} bytes, ${message.output.pointer}`)]
      : []
  return [...parts, ...calls, ...output].filter((text) => text !== undefined && text !== '').join('\n')
}

const shortened = (text: string): string =>
  harmless(
    text.length <= MAX_SHOWN_CHARACTERS
      ? text
      : `${text.slice(0, MAX_SHOWN_CHARACTERS)}… (${text.length - MAX_SHOWN_CHARACTERS} more characters)`,
  )
