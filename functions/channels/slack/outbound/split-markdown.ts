/** Limit of one Slack message, in characters. */
const MAX_MESSAGE_CHARACTERS = 12_000
/** Characters reserved for the lines that reopen and close a fence. */
const FENCE_CHARACTERS = 300
/** Limit of a table's head, in characters; a longer one is not repeated. */
const MAX_HEAD_CHARACTERS = 3_000
/** Number of characters searched before and after a possible split, for a link that the split would break. */
const AFTER = 1_000

const FENCE = /^( {0,40}(?:(?:[-*+]|\d{1,9}[.)]) {1,4})?)(`{3,100}|~{3,100})([^`\n]{0,200})$/
const LIST_ITEM = /^\s{0,12}(?:[-*+]|\d{1,9}[.)])\s/
/** Largest indentation of a fence, in spaces. A deeper indentation means code, unless it belongs to a list. */
const MAX_INDENT_SPACES = 3
const LINK = /!?\[[^\]\n]{0,400}\]\([^()\s]{0,500}(?:\s"[^"\n]{0,60}")?\)|<[^<>\s]{1,500}>|https?:\/\/[^\s<>]{1,900}/g

/** Possible places for a split, best first. */
const RANKS = ['between paragraphs', 'between blocks', 'between list items', 'between lines', 'between words'] as const
type Rank = (typeof RANKS)[number]

/** Whether the text is long enough that further text cannot change the end of the piece that begins at `from`. */
export const isDecided = (text: string, from: number): boolean => text.length - from >= MAX_MESSAGE_CHARACTERS + AFTER

/** Number of characters at the start of a piece that stay in this piece, whatever text follows. */
const SURE = MAX_MESSAGE_CHARACTERS / 2

/** The end of the text that may be shown while the answer still grows; never within a surrogate pair. */
export const sureEnd = (text: string, from: number): number => outsidePair(text, Math.min(text.length, from + SURE))

/**
 * Returns the end of the piece of Markdown that begins at `from`. The piece fits into one message. A split between
 * paragraphs is preferred, then one between blocks, then one between list items. A link or a surrogate pair is never
 * split.
 */
export function pieceEnd(text: string, from: number): number {
  const most = MAX_MESSAGE_CHARACTERS - FENCE_CHARACTERS - startOfPiece(text, from).length
  if (text.length - from <= most) return text.length
  const [low, high] = [from + SURE, from + most]
  const best = new Map<Rank, number>()
  for (const { at, rank } of lineCuts(text, high)) if (at > low) best.set(rank, at)
  if (best.size === 0) {
    const word = text.slice(low, high).search(/\s\S*$/)
    if (word >= 0) best.set('between words', low + word + 1)
  }
  const rank = RANKS.find((one) => best.has(one))
  return outsideLink(text, (rank && best.get(rank)) ?? high, low)
}

/**
 * Renders the piece as a message. A split fence is closed and reopened in the next message. A split table repeats its
 * head there.
 */
export function renderPiece(text: string, from: number, to: number): string {
  const piece = text.slice(from, to)
  if (piece === '') return ''
  const { fence } = blockAt(text, to)
  const close = fence === undefined ? '' : `${piece.endsWith('\n') ? '' : '\n'}${fence.mark}`
  return `${startOfPiece(text, from)}${piece}${close}`
}

/**
 * Returns the lines before the piece's own text. If the piece begins within a fence or a table, these are the fence's
 * first line or the table's head.
 */
export function startOfPiece(text: string, from: number): string {
  const { fence, head = '' } = blockAt(text, from)
  if (fence !== undefined) return `${fence.mark}${fence.info}\n`
  return head.length > MAX_HEAD_CHARACTERS ? '' : head
}

interface Fence {
  readonly indent: number
  readonly mark: string
  readonly info: string
}

interface Line {
  readonly at: number
  readonly text: string
  /** The fence that is open at the start of the line. */
  readonly fence: Fence | undefined
  /** Whether the line belongs to a list, or to the code of a list item. */
  readonly inList: boolean
  /** For a row of a table: both lines of the table's head, with their line ends. */
  readonly head: string | undefined
  /** Whether a split before the line would separate the table's head from its rows. */
  readonly keepsHead: boolean
}

function* linesOf(text: string, until: number): Generator<Line> {
  let fence: Fence | undefined
  let inList = false
  let head: string | undefined
  let previous: string | undefined
  let isFirstRow = false
  for (let at = 0; at <= until && at <= text.length;) {
    const end = text.indexOf('\n', at)
    const line = text.slice(at, end < 0 ? text.length : end)
    if (fence === undefined) inList = LIST_ITEM.test(line) || (inList && /^(?:\s|$)/.test(line))
    if (fence !== undefined || (head !== undefined && !isRow(line, head))) head = undefined
    const isDelimiter = fence === undefined && head === undefined && previous !== undefined && isHead(previous, line)
    yield { at, text: line, fence, inList, head, keepsHead: isDelimiter || (isFirstRow && head !== undefined) }
    if (isDelimiter) head = `${previous}\n${line}\n`
    isFirstRow = isDelimiter
    fence = fenceAfter(line, fence, inList)
    previous = fence === undefined ? line : undefined
    if (end < 0) return
    at = end + 1
  }
}

function fenceAfter(line: string, fence: Fence | undefined, inList: boolean): Fence | undefined {
  const [, before = '', mark, info = ''] = FENCE.exec(line) ?? []
  if (mark === undefined) return fence
  const indent = before.length
  if (fence === undefined)
    return indent <= MAX_INDENT_SPACES || inList ? { indent, mark, info: info.trim().slice(0, 40) } : undefined
  const isBare = before.trim() === '' && info.trim() === '' && indent <= fence.indent + MAX_INDENT_SPACES
  const closes = isBare && mark[0] === fence.mark[0] && mark.length >= fence.mark.length
  return closes ? undefined : fence
}

const DELIMITER = /^\s{0,40}\|?\s{0,40}:?-+:?\s{0,40}(?:\|\s{0,40}:?-+:?\s{0,40})*\|?\s{0,40}$/

/** Whether two lines are the head of a table: the column names, and the line of dashes. */
const isHead = (names: string, dashes: string): boolean =>
  names.includes('|') &&
  dashes.includes('|') &&
  dashes.length <= AFTER &&
  DELIMITER.test(dashes) &&
  countCells(names) === countCells(dashes)

const countCells = (line: string): number =>
  line
    .trim()
    .replace(/^\|/, '')
    .replace(/(?<!\\)\|$/, '')
    .split(/(?<!\\)\|/).length

/**
 * Whether a line is a row of the table with this head. If the head begins with a bar, the row must begin with one, too.
 */
const isRow = (line: string, head: string): boolean =>
  head.trimStart().startsWith('|') ? line.trimStart().startsWith('|') : line.includes('|')

/**
 * Returns the fence or table that is open at `place`. This position must not be within a line that opens or closes a
 * fence.
 */
function blockAt(text: string, place: number): Partial<Pick<Line, 'fence' | 'head'>> {
  let last: Line | undefined
  for (const line of linesOf(text, place)) last = line
  if (last === undefined) return {}
  // A line records the fence that is open at its start. At the end of the text, the fence that is open after the last
  // line must be computed.
  const isWhole = place === text.length && last.at < place
  return { fence: isWhole ? fenceAfter(last.text, last.fence, last.inList) : last.fence, head: last.head }
}

/** The starts of lines up to `until`, each with the rank of a split there. */
function* lineCuts(text: string, until: number): Generator<{ readonly at: number; readonly rank: Rank }> {
  let previous = ''
  let inList = false
  for (const { at, text: line, fence, keepsHead } of linesOf(text, until)) {
    const isItem = fence === undefined && LIST_ITEM.test(line)
    const wasInList: boolean = inList
    inList = isItem || (wasInList && (line.trim() === '' || previous.trim() !== '' || /^\s{2,}/.test(line)))
    if (at > 0 && !keepsHead) yield { at, rank: rankOf(line, { previous, fence, isItem, inList: wasInList && inList }) }
    previous = line
  }
}

interface Around {
  readonly previous: string
  readonly fence: Fence | undefined
  readonly isItem: boolean
  readonly inList: boolean
}

function rankOf(line: string, { previous, fence, isItem, inList }: Around): Rank {
  if (fence !== undefined) return 'between lines'
  if (inList) return isItem && !/^\s/.test(line) ? 'between list items' : 'between lines'
  const inTable = line.trimStart().startsWith('|') && previous.trimStart().startsWith('|')
  if (inTable || line.trim() === '') return 'between lines'
  return previous.trim() === '' ? 'between paragraphs' : 'between blocks'
}

/** Returns the start of the link or surrogate pair around a position. Returns other positions unchanged. */
function outsideLink(text: string, place: number, low: number): number {
  const begin = Math.max(0, place - AFTER)
  for (const { index, 0: link } of text.slice(begin, place + AFTER).matchAll(LINK)) {
    const [start, end] = [begin + index, begin + index + link.length]
    if (start < place && place < end && start > low) return start
  }
  return outsidePair(text, place)
}

function outsidePair(text: string, place: number): number {
  const code = text.charCodeAt(place - 1)
  return code >= 0xd800 && code <= 0xdbff ? place - 1 : place
}
