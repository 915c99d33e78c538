import { textOf } from '../../domain/messages/message.ts'
import type { Message, Part } from '../../domain/messages/message.ts'
import type { Session } from '../../domain/session.ts'

/** Returns the head of a Markdown page that shows a session to people. */
export const sessionMarkdown = ({ session, title, agent, owner, createdAt }: Session): string =>
  `# ${oneLine(title ?? session)}\n\n${[
    `Session ${session}`,
    `agent ${agent}`,
    ...(owner === undefined ? [] : [owner]),
    timeOf(createdAt),
  ]
    .map(oneLine)
    .join(' · ')}\n`

/**
 * Renders one message of the page. `by`: the run that superseded the message's run. `output`: the whole text of an
 * offloaded output. Texts are quoted or fenced, so that no text can end its block early.
 */
export function messageMarkdown(message: Message, by: string | undefined, output: string | undefined): string {
  const head = `${message.parentToolCallId === undefined ? '' : `${message.agent}, for ${message.parentToolCallId} · `}${timeOf(message.createdAt)}${by === undefined ? '' : ` · superseded by run ${by}`}`
  switch (message.role) {
    case 'user':
      return section(`User${message.user === undefined ? '' : ` ${message.user}`}`, head, quoted(shown(message.parts)))
    case 'assistant': {
      const calls = message.toolCalls.map(({ name, arguments: text }) => `Calls \`${name}\`:\n\n${fenced(text)}`)
      return section('Assistant', head, [quoted(shown(message.parts)), ...calls].filter(Boolean).join('\n\n'))
    }
    case 'tool': {
      const media = quoted(shown(message.parts.filter(({ type }) => type !== 'text')))
      const body = [fenced(output ?? textOf(message.parts)), media].filter(Boolean).join('\n\n')
      return section(`Tool ${message.toolName} (${message.status})`, head, body)
    }
  }
}

const timeOf = (milliseconds: number): string => new Date(milliseconds).toISOString()

const oneLine = (text: string): string => text.replaceAll(/[\s#<>]+/gu, ' ').trim()

const section = (title: string, head: string, body: string): string =>
  `\n## ${oneLine(title)}\n\n*${oneLine(head)}*\n\n${body}\n`

const shown = (parts: readonly Part[]): string =>
  parts
    .flatMap((part) => {
      if (part.type === 'text') return [part.text]
      if (part.type === 'error') return [`Error ${part.code}: ${part.text}`]
      if (part.type === 'image' || part.type === 'file') return [`[${part.type}: ${part.filename ?? part.id}]`]
      return []
    })
    .join('\n\n')

/**
 * Quotes a text. Texts of people and models are Markdown already, and the quotation separates them from the page's own
 * headings.
 */
const quoted = (text: string): string => (text === '' ? '' : text.replaceAll(/^/gmu, '> '))

/** Puts a text into a fence that is longer than any fence in the text. */
function fenced(text: string): string {
  const longest = [...text.matchAll(/`{3,}/gu)].reduce((most, [found]) => Math.max(most, found.length), 2)
  const fence = '`'.repeat(longest + 1)
  return `${fence}text\n${text}\n${fence}`
}
