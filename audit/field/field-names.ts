/**
 * The field cases by number or name. Each case is a kind of input that occurs in practice. The name of every field test
 * contains the number or name of its case.
 */
export const FIELD_CASES: ReadonlyMap<string, string> = new Map([
  ['01', 'names and ids that a provider refuses'],
  ['03', 'MCP results with nulls'],
  ['05', 'an MCP list with one odd tool'],
  ['07', 'Claude Code: words typed meanwhile'],
  ['09', 'Codex: injected texts'],
  ['11', 'Codex: compressed sessions'],
  ['12', 'Slack: forwarded messages and alerts'],
  ['14', 'search: marks of other scripts'],
  ['16', 'half characters in streams'],
  ['17', 'half characters in tools'],
  ['18', 'a client that trims'],
  ['19', 'numbers that JavaScript rounds'],
  ['21', 'null for what is optional'],
  ['22', 'schemas with odd patterns'],
  ['23', 'approvals that no check may skip'],
  ['24', 'reasoning of another model'],
  ['mcp-session', 'MCP servers that forget a session'],
  ['too-long', 'requests beyond the context window'],
  ['unknown-frames', 'streams of unknown frames'],
])

const WIRES: Readonly<Record<string, readonly string[]>> = {
  chat: ['chat', 'chat completions', 'chat-completions', 'openai-compatible', 'openai compatible'],
  responses: ['responses', 'openai', 'openai responses'],
  messages: ['messages', 'anthropic', 'anthropic messages'],
  bedrock: ['bedrock', 'amazon-bedrock', 'amazon bedrock', 'converse', 'bedrock converse'],
}
const ENGINES: Readonly<Record<string, readonly string[]>> = {
  sqlite: ['sqlite'],
  dynamodb: ['dynamodb', 'dynamodb local'],
  opensearch: ['opensearch'],
  browser: ['browser', 'chromium'],
}

export const WIRE_NAMES = Object.keys(WIRES)
export const ENGINE_NAMES = Object.keys(ENGINES)

/** A field test, described by its name. `wires` and `engines` are empty if the test does not depend on any. */
export interface FieldTest {
  readonly case: string
  readonly variant: string
  readonly wires: readonly string[]
  readonly engines: readonly string[]
}

const FIELD = /\bfield\/([\p{L}\p{N}_-]+)(?:\/([\p{L}\p{N}_.-]*[\p{L}\p{N}_]))?/u

/**
 * Reads the case, the variant, the wires and the engines from the names of a test and its suites, the outermost suite
 * first. Undefined if no name contains `field/<case>`.
 *
 * A name is split into segments at `·`, `,`, `:`, `|`, parentheses and dashes. A whole segment may name a wire or an
 * engine. Words that directly follow the variant may name wires and engines too. The word `on` before such a name is
 * skipped.
 */
export function readFieldName(names: readonly string[]): FieldTest | undefined {
  const found = names.map((name) => FIELD.exec(name)).find((match) => match !== null)
  if (found === undefined) return undefined
  const segments = names.flatMap((name) => {
    const { index = 0, 0: id = '' } = FIELD.exec(name) ?? {}
    return id === '' ? split(name) : [...split(name.slice(0, index)), ...leadingWords(name.slice(index + id.length))]
  })
  return {
    case: found[1] ?? '',
    variant: found[2] ?? '',
    wires: namesIn(segments, WIRES),
    engines: namesIn(segments, ENGINES),
  }
}

/** Splits a text into segments in lower case. */
const split = (text: string): string[] =>
  text
    .split(/\s*[·•,:;|/()[\]]+\s*|\s+[-–—>]+\s+/u)
    .map((segment) => segment.trim().toLowerCase().replace(/^on /, ''))
    .filter((segment) => segment !== '')

/**
 * Splits the text after a variant into segments. In the first segment, each leading word that is a wire or engine
 * becomes a separate segment.
 */
function leadingWords(text: string): string[] {
  const segments = split(text)
  const [first = ''] = segments
  const words: string[] = []
  for (const word of first.split(' ')) {
    if (canonical(word, WIRES) === undefined && canonical(word, ENGINES) === undefined) break
    words.push(word)
  }
  return [...words, ...segments]
}

const canonical = (segment: string, table: Readonly<Record<string, readonly string[]>>): string | undefined =>
  Object.keys(table).find((name) => table[name]?.includes(segment))

const namesIn = (segments: readonly string[], table: Readonly<Record<string, readonly string[]>>): string[] =>
  Object.keys(table).filter((name) => segments.some((segment) => canonical(segment, table) === name))
