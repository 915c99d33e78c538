import { escaped } from '../outbound/text.ts'

type Fields = Readonly<Record<string, unknown>>

/**
 * Extracts the text of Slack's blocks, escaped like the text of a message. For unknown kinds of blocks, extracts all
 * texts in them. Buttons and inputs are ignored.
 */
export function blocksText(node: unknown): string {
  if (Array.isArray(node)) return joined(node, '\n')
  if (typeof node !== 'object' || node === null) return ''
  const fields = node as Fields
  const type = String(fields['type'])
  return Object.hasOwn(TEXT_OF, type) ? (TEXT_OF[type]?.(fields) ?? '') : anyText(fields)
}

/** Reads a string field; an empty text if it is missing or not a string. */
export const textField = (fields: Fields, name: string): string => {
  const { [name]: value } = fields
  return typeof value === 'string' ? value : ''
}

const joined = (nodes: unknown, separator: string): string =>
  Array.isArray(nodes)
    ? nodes
        .map(blocksText)
        .filter((text) => text !== '')
        .join(separator)
    : ''

const nothing = (): string => ''
const ownText = (fields: Fields): string => textField(fields, 'text')
const lines = ({ elements }: Fields): string => joined(elements, '\n')
const inLine = ({ elements }: Fields): string => joined(elements, '')

/**
 * Kinds of blocks and elements that need special handling. The text of all others is in `title`, `text`, `description`,
 * `fields` and `elements`.
 */
const TEXT_OF: Readonly<Record<string, (fields: Fields) => string>> = {
  actions: nothing,
  input: nothing,
  button: nothing,
  context_actions: nothing,
  plain_text: ownText,
  mrkdwn: ownText,
  markdown: ownText,
  raw_text: (fields) => escaped(ownText(fields)),
  context: ({ elements }) => joined(elements, ' '),
  image: (fields) => {
    const name = [blocksText(fields['title']), textField(fields, 'alt_text')].find((text) => text !== '') ?? ''
    return [name, textField(fields, 'image_url')].filter((text) => text !== '').join(' ')
  },
  table: ({ rows }) =>
    Array.isArray(rows)
      ? rows
          .map((row) => joined(row, ' | '))
          .filter((text) => text !== '')
          .join('\n')
      : '',
  rich_text: lines,
  rich_text_section: inLine,
  rich_text_list: ({ elements, style }) =>
    Array.isArray(elements)
      ? elements.map((item, index) => `${style === 'ordered' ? `${index + 1}.` : '•'} ${blocksText(item)}`).join('\n')
      : '',
  rich_text_quote: (fields) => inLine(fields).replaceAll(/^/gm, '&gt; '),
  rich_text_preformatted: (fields) => `\`\`\`\n${inLine(fields)}\n\`\`\``,
  text: (fields) => escaped(ownText(fields)),
  link: (fields) => {
    const [url, text] = [textField(fields, 'url'), escaped(textField(fields, 'text'))]
    return text === '' || text === url ? `<${url}>` : `<${url}|${text}>`
  },
  user: (fields) => `<@${textField(fields, 'user_id')}>`,
  usergroup: (fields) => `<!subteam^${textField(fields, 'usergroup_id')}>`,
  channel: (fields) => `<#${textField(fields, 'channel_id')}>`,
  broadcast: (fields) => `<!${textField(fields, 'range')}>`,
  emoji: (fields) => `:${textField(fields, 'name')}:`,
  color: (fields) => textField(fields, 'value'),
  date: (fields) => textField(fields, 'fallback'),
}

/** Fields of blocks that contain text or further blocks, in their order on the screen. */
const TEXT_FIELDS = ['title', 'message', 'text', 'description', 'blocks', 'fields', 'elements', 'rows'] as const

function anyText(fields: Fields): string {
  return TEXT_FIELDS.map((name) => {
    const { [name]: value } = fields
    return typeof value === 'string' ? value : blocksText(value)
  })
    .filter((text) => text !== '')
    .join('\n')
}
