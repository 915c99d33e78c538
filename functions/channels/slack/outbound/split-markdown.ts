/** Characters of one message of Slack. */
const MAX_MESSAGE_CHARACTERS = 12_000
/** Characters that lines take which open a fence again, and close it. */
const FENCE_CHARACTERS = 300
/** Limit of a table's head; a longer one is not repeated. */
const MAX_HEAD_CHARACTERS = 3_000
/** Characters after a possible cut that decide whether it lies within a link. */
const AFTER = 1_000

const FENCE = /^( {0,40}(?:(?:[-*+]|\d{1,9}[.)]) {1,4})?)(`{3,100}|~{3,100})([^`\n]{0,200})$/
const LIST_ITEM = /^\s{0,12}(?:[-*+]|\d{1,9}[.)])\s/
/** Blanks before a fence that is one; what stands further in is code, unless it belongs to a list. */
const MAX_INDENT_SPACES = 3
const LINK = /!?\[[^\]\n]{0,400}\]\([^()\s]{0,500}(?:\s"[^"\n]{0,60}")?\)|<[^<>\s]{1,500}>|https?:\/\/[^\s<>]{1,900}/g

/** How good a place is for a cut: the first that is found wins. */
const RANKS = ['between paragraphs', 'between blocks', 'between list items', 'between lines', 'between words'] as const
type Rank = (typeof RANKS)[number]

/** Whether more text would not change where the piece that begins at `from` ends. */
export const isDecided = (text: string, from: number): boolean => text.length - from >= MAX_MESSAGE_CHARACTERS + AFTER

/** Characters of a piece that are never cut off from it, however the text goes on. */
const SURE = MAX_MESSAGE_CHARACTERS / 2

/** How far a piece may be shown while the text still grows: never into a pair of surrogates. */
export const sureEnd = (text: string, from: number): number => outsidePair(text, Math.min(text.length, from + SURE))

/**
 * Where the piece of a Markdown text that begins at `from` ends: at most a message's length further, and, where there is a choice,
 * between paragraphs, then between blocks, then between the items of a list, and never within a link or a pair of surrogates.
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
 * The piece as a message. A fence that is cut is closed, and opened again in the next message. A table that is cut repeats its head
 * there.
 */
export function renderPiece(text: string, from: number, to: number): string {
  const piece = text.slice(from, to)
  if (piece === '') return ''
  const { fence } = blockAt(text, to)
  const close = fence === undefined ? '' : `${piece.endsWith('\n') ? '' : '\n'}${fence.mark}`
  return `${startOfPiece(text, from)}${piece}${close}`
}

/** The lines before the piece's own text: of the fence, or of the table, within which it begins. */
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
  /** The fence within which it begins. */
  readonly fence: Fence | undefined
  /** It belongs to a list, or to an item's code. */
  readonly inList: boolean
  /** Of the row of a table: both lines of the table's head, with their ends. */
  readonly head: string | undefined
  /** It is the second line of a table's head, or the first row: a cut before it would part the head from the rows. */
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

/** Whether two lines are the head of a table: the names of its columns, and as many dashes. */
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

/** Whether a line is a row of the table with this head: it has bars as the head does. */
const isRow = (line: string, head: string): boolean =>
  head.trimStart().startsWith('|') ? line.trimStart().startsWith('|') : line.includes('|')

/** The fence or the table that is open at a place, which is not within a line that opens or closes a fence. */
function blockAt(text: string, place: number): Partial<Pick<Line, 'fence' | 'head'>> {
  let last: Line | undefined
  for (const line of linesOf(text, place)) last = line
  if (last === undefined) return {}
  // The last line of all has no line after it that would show the fence.
  const isWhole = place === text.length && last.at < place
  return { fence: isWhole ? fenceAfter(last.text, last.fence, last.inList) : last.fence, head: last.head }
}

/** The beginnings of lines up to `until`, and how good each is for a cut. */
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

/** The same place, or before the link or the pair of surrogates in which it lies. */
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
