import type { HistoryDocument } from '../../functions/domain/history.ts'
import { nextId } from '../../functions/domain/ids.ts'
import { randomNumbers } from '../../test/e2e/crashes/parts/random-numbers.ts'

/**
 * An invented history, which is equal in every run. It has conversations of agents about files, orders, deployments and
 * data.
 */
export interface MadeHistory {
  /**
   * Yields batches of about `size` documents, which are created on demand. No batch is kept, so that memory contains
   * only the measured objects.
   */
  batches(size: number): Generator<HistoryDocument[]>
  /** Returns queries for the documents created so far. */
  queries(): { readonly kind: string; readonly text: string }[]
}

const SUBJECTS =
  `account address agent alert analysis archive balance batch branch budget build cache campaign cart category
  certificate channel city claim client cluster column comment commit component config contract country coupon course credit
  currency customer dashboard dataset deadline delivery deployment design device discount district document domain driver
  employee endpoint engine error event exchange export factory feature field filter flight folder forecast format function
  gateway group guest hotel image import index insight instance interface invoice item job journey key label layer ledger
  lesson level library license limit list loan location log machine manager margin market member memory menu merchant message
  metric migration model module month network node note notice number object offer office option order output owner package
  page parcel parser partner passenger password patient payment permission phone pipeline plan plugin policy pool portal
  price printer process product profile project promise property protocol provider purchase quality quarter query queue rate
  reason receipt record region release render report request reservation resource response result return revenue review
  reward role route rule runner salary sample schedule schema scope score script season seat section segment sensor server
  service session setting shipment signal size snapshot source space sprint stage status step stock storage store stream
  subject supplier support survey symbol system table target task tax team template tenant terminal ticket timeline timeout
  token topic trace track traffic transaction transfer trigger tunnel update upload user value vendor version view visit
  volume wallet warehouse weather webhook week widget window worker workflow zone`
    .trim()
    .split(/\s+/u)
const VERBS =
  `add approve archive assign attach build cancel check clean close compare compute convert copy count create delete
  deploy download edit export fetch fill find fix generate import inspect install list load lock merge migrate move open parse
  pause plan print publish pull push query read rebuild refresh refund register reject release remove rename render repair
  replace reset resolve restart restore review roll run save scan schedule search send sort split start stop store submit sync
  test track train transfer translate trim update upgrade upload validate verify write`
    .trim()
    .split(/\s+/u)
const PLACES =
  `Amsterdam Berlin Chicago Dublin Geneva Hamburg Jakarta Kyoto Lagos Lisbon Lima Madrid Milan Nairobi Osaka Oslo
  Paris Porto Prague Rome Seoul Tokyo Vienna Warsaw Zurich`
    .trim()
    .split(/\s+/u)
const SYLLABLES = 'ba ce di fo gu ha je ki lo mu na pe qui ro su ta ve wi xo yu zan bren cor dal fen gar hol mer'.split(
  ' ',
)
const TOOLS = Array.from({ length: 24 }, (_, index) => `${VERBS[index * 3] ?? 'run'}_${SUBJECTS[index * 11] ?? 'task'}`)
const START = Date.UTC(2026, 0, 1)

type Random = () => number

/** One document out of each group of this size is used to build queries. */
const KEPT = 40

/**
 * Creates a history of `count` documents. A tenth are messages of people, an eighth are messages of the assistant, and
 * the others are calls and results.
 */
export function makeHistory(count: number): MadeHistory {
  const random = randomNumbers(20_260_101)
  const kept: string[] = []
  const ids: string[] = []
  let last: string | undefined
  const next = (number: number): HistoryDocument[] => {
    const time = START + number * 20_000
    last = nextId(last, time)
    const session = Math.floor(number / 200)
    const base = {
      tenant: 'bench',
      session: `session-${session}`,
      owner: `owner-${session % 7}`,
      runId: `run-${Math.floor(number / 20)}`,
      agent: 'default',
    }
    const kind = random()
    if (kind < 0.15) return [{ ...base, messageId: last, part: 'u', role: 'user', text: sentence(random, 30), time }]
    if (kind < 0.34)
      return [{ ...base, messageId: last, part: 'a', role: 'assistant', text: sentence(random, 80), time }]
    return toolEvent(random, { ...base, messageId: last, time }, ids)
  }
  return {
    *batches(size) {
      for (let made = 0; made < count;) {
        const batch: HistoryDocument[] = []
        while (batch.length < size && made + batch.length < count) batch.push(...next(made + batch.length))
        kept.push(...batch.filter((_, place) => (made + place) % KEPT === 0).map(({ text }) => text))
        made += batch.length
        yield batch
      }
    },
    queries: () => makeQueries(random, kept, ids),
  }
}

function toolEvent(
  random: Random,
  base: Omit<HistoryDocument, 'part' | 'role' | 'text'>,
  ids: string[],
): HistoryDocument[] {
  const toolName = pick(random, TOOLS)
  const id = `${pick(random, SUBJECTS)}_${hex(random, 7)}`
  ids.push(id)
  const call = `${toolName}(id="${id}", path="src/${pick(random, SUBJECTS)}/${camel(random)}.ts", limit=${Math.floor(random() * 500)})`
  const tool = { ...base, toolName, toolCallId: `call_${hex(random, 12)}`, status: 'completed' as const, call }
  const lines = Array.from({ length: 1 + Math.floor(random() ** 3 * 30) }, () => resultLine(random))
  return [
    { ...tool, part: 'c', role: 'tool_call', text: call },
    { ...tool, part: 'r0', role: 'tool_result', text: lines.join('\n'), time: base.time + 900 },
  ]
}

function resultLine(random: Random): string {
  const kind = random()
  if (kind < 0.3)
    return `{"${pick(random, SUBJECTS)}_id": "${hex(random, 8)}", "city": "${pick(random, PLACES)}", "total": ${(random() * 900).toFixed(2)}}`
  if (kind < 0.6)
    return `./packages/${pick(random, SUBJECTS)}/${camel(random)}.ts:${Math.floor(random() * 900)}: ${sentence(random, 8)}`
  return sentence(random, 14)
}

function makeQueries(
  random: Random,
  texts: readonly string[],
  ids: readonly string[],
): ReturnType<MadeHistory['queries']> {
  const words = (count: number): string => {
    const found = pick(random, texts).match(/[A-Za-z]{4,}/gu) ?? ['order']
    return Array.from({ length: count }, () => pick(random, found)).join(' ')
  }
  const typo = (): string => {
    const word = pick(
      random,
      SUBJECTS.filter((subject) => subject.length > 5),
    )
    return `${word.slice(0, 2)}${word.charAt(3)}${word.charAt(2)}${word.slice(4)} ${words(1)}`
  }
  const makers: { readonly [kind: string]: () => string } = {
    'exact id': () => pick(random, ids),
    'part of an id': () => pick(random, ids).slice(-6),
    'two words': () => words(2),
    'four words': () => words(4),
    question: () => `what did we find out about ${words(2)} in ${pick(random, PLACES)}?`,
    'tool and argument': () => `${pick(random, TOOLS)} ${pick(random, SUBJECTS)}`,
    'camel part': () => `${pick(random, VERBS)} ${pick(random, SUBJECTS)}`,
    typo,
    'one common word': () => pick(random, SUBJECTS),
  }
  return Object.entries(makers).flatMap(([kind, make]) => Array.from({ length: 30 }, () => ({ kind, text: make() })))
}

/**
 * Generates words with about the frequencies of real text: a few words are very common, and new words never stop
 * appearing.
 */
function sentence(random: Random, length: number): string {
  const count = 4 + Math.floor(random() * length)
  return Array.from({ length: count }, () => word(random)).join(' ')
}

function word(random: Random): string {
  const kind = random()
  if (kind < 0.25) return pick(random, ['the', 'of', 'to', 'and', 'is', 'in', 'for', 'with'])
  if (kind < 0.6) return SUBJECTS[Math.floor(random() ** 2 * SUBJECTS.length)] ?? 'order'
  if (kind < 0.8) return VERBS[Math.floor(random() ** 2 * VERBS.length)] ?? 'run'
  if (kind < 0.97)
    return `${pick(random, SYLLABLES)}${pick(random, SYLLABLES)}${random() < 0.5 ? pick(random, SYLLABLES) : ''}`
  return `${pick(random, SYLLABLES)}${pick(random, SYLLABLES)}${hex(random, 4)}`
}

const camel = (random: Random): string => {
  const second = pick(random, SUBJECTS)
  return `${pick(random, VERBS)}${second.charAt(0).toUpperCase()}${second.slice(1)}`
}

const pick = <Item>(random: Random, items: readonly Item[]): Item => {
  const item = items[Math.floor(random() * items.length)]
  if (item === undefined) throw new RangeError('nothing to pick from')
  return item
}

const hex = (random: Random, length: number): string =>
  Array.from({ length }, () => Math.floor(random() * 16).toString(16)).join('')
