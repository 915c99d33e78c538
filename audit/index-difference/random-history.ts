import { definedFields } from '../../functions/domain/defined-fields.ts'
import { nextIds } from '../../functions/domain/ids.ts'
import type { HistoryDocument, HistoryQuery } from '../../functions/domain/history.ts'
import type { Dice } from '../dice.ts'

const WORDS = [
  ...[
    'deploy',
    'deployed',
    'deploys',
    'server',
    'servers',
    'include_dirs',
    'includeDirs',
    'api/v1',
    'foo-bar',
    '数据库',
  ],
  ...[
    '日志',
    'emoji',
    '😀',
    'C++',
    'node.js',
    'Straße',
    'naïve',
    'error',
    'timeout',
    'q1',
    'x86_64',
    'kubernetes',
    'kubectl',
  ],
  ...['alpha', 'beta', 'gamma', 'delta', 'epsilon', 'zeta', 'eta', 'theta', 'iota', 'kappa', 'lambda', 'mu', 'nu'],
  ...[
    '日本語テキスト',
    '한국어',
    'мир',
    'a',
    'ok',
    'The',
    'of',
    '12345',
    '3.14',
    'user@example.com',
    'https://example.org/a?b=c',
  ],
  ...['"quoted"', '\u0000', '\u200B', '"', '<b>', 'İstanbul', 'ﬁne', 'e\u0301', 'HTTPServerError', 'parseJSON2XML'],
  ...['tool_call', 'grep', 'сервер'],
]
const SYMBOLS = ['{}', '+', '""', '::', '?', '*', '😀', '<', '()']
const ROLES = ['user', 'assistant', 'tool_call', 'tool_result'] as const
const PARTS = { user: 'u', assistant: 'a', tool_call: 'c', tool_result: 'r0' } as const
const TOOLS = ['shell', 'web_search', 'readFile'] as const
const STATUSES = ['completed', 'error'] as const
const AGENTS = ['default', 'helper'] as const
const OWNERS = ['o1', 'o2'] as const
const START = 1_750_000_000_000
const STEP_MS = 600_000

const sessionOf = (dice: Dice, owner = ''): string => `s-${Math.floor(dice.number() * 8)}${owner}`
const runOf = (dice: Dice): string => `run-${Math.floor(dice.number() * 20)}`

/** Draws documents with unusual words, from a small number of sessions, owners and tools. */
export function randomDocuments(dice: Dice, count: number): HistoryDocument[] {
  const ids = nextIds(undefined, START, count)
  return ids.map((messageId, index): HistoryDocument => {
    const role = dice.pick(ROLES)
    const owner = dice.pick([undefined, ...OWNERS])
    const words = Array.from({ length: 1 + Math.floor(dice.number() * 12) }, () => dice.pick(WORDS))
    const isTool = role === 'tool_call' || role === 'tool_result'
    const tool = { toolName: dice.pick(TOOLS), toolCallId: `c${index}`, status: dice.pick(STATUSES) }
    const call = `shell(cmd="${dice.pick(WORDS)} ${dice.pick(WORDS)}")`
    return {
      ...{
        tenant: dice.pick(['acme', 'acme', 'other']),
        session: sessionOf(dice, owner),
        runId: runOf(dice),
        messageId,
      },
      ...{ part: PARTS[role], role, agent: dice.pick(AGENTS), time: START + index * STEP_MS },
      ...definedFields({ owner }),
      ...(isTool ? { ...tool, call } : {}),
      text: role === 'tool_call' ? call : words.join(dice.pick([' ', ' ', '\n', ', '])),
    }
  })
}

function randomText(dice: Dice): string {
  const word = (): string => dice.pick(WORDS)
  const kinds = [
    word,
    () => `${word()} ${word()}`,
    () => `${word()} ${word()} ${word()}`,
    () => '',
    () => word().slice(0, 4),
    () => word().slice(1),
    () => dice.pick(SYMBOLS),
  ]
  return dice.pick(kinds)()
}

/** Draws a query with random filters for a history of `count` documents. */
export function randomQuery(dice: Dice, count: number): HistoryQuery {
  const maybe = <Filter extends object>(probability: number, filter: () => Filter): Partial<Filter> =>
    dice.chance(probability) ? filter() : {}
  const time = (offsets: readonly number[]): number =>
    START + Math.floor(dice.number() * count) * STEP_MS + dice.pick(offsets)
  return {
    text: randomText(dice),
    limit: dice.pick([1, 3, 10, 50]),
    scope: {
      tenant: 'acme',
      ...maybe(0.3, () => ({ owner: dice.pick([...OWNERS, 'o9']) })),
      ...maybe(0.2, () => ({ session: sessionOf(dice, dice.pick(['', ...OWNERS])) })),
    },
    filters: {
      ...maybe(0.25, () => ({ role: dice.pick(ROLES) })),
      ...maybe(0.15, () => ({ tool: dice.pick([...TOOLS, 'nope']) })),
      ...maybe(0.15, () => ({ status: dice.pick(STATUSES) })),
      ...maybe(0.1, () => ({ owner: dice.pick(OWNERS) })),
      ...maybe(0.1, () => ({ agent: dice.pick(AGENTS) })),
      ...maybe(0.2, () => ({ since: time([0, 1, -1, 0.5]) })),
      ...maybe(0.2, () => ({ until: time([0, 1, -1, -0.5]) })),
      ...maybe(0.1, () => ({ notRun: runOf(dice) })),
    },
  }
}
