/** Characters of one message of Slack. */
const MAX_MESSAGE_CHARACTERS = 12_000
/** Characters that lines take which open a fence again, and close it. */
const FENCE_ROOM = 300
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
  const most = MAX_MESSAGE_CHARACTERS - FENCE_ROOM
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

/** The piece as a message: a fence that is cut is closed, and opened again in the next. */
export function renderPiece(text: string, from: number, to: number): string {
  const piece = text.slice(from, to)
  const [before, after] = [fenceAt(text, from), fenceAt(text, to)]
  if (piece === '') return ''
  const close = after === undefined ? '' : `${piece.endsWith('\n') ? '' : '\n'}${after.mark}`
  return `${pieceStart(before)}${piece}${close}`
}

/** What stands before the piece's own text. */
export const startOfPiece = (text: string, from: number): string => pieceStart(fenceAt(text, from))

const pieceStart = (fence: Fence | undefined): string => (fence === undefined ? '' : `${fence.mark}${fence.info}\n`)

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
}

function* linesOf(text: string, until: number): Generator<Line> {
  let fence: Fence | undefined
  let inList = false
  for (let at = 0; at <= until && at <= text.length;) {
    const end = text.indexOf('\n', at)
    const line = text.slice(at, end < 0 ? text.length : end)
    if (fence === undefined) inList = LIST_ITEM.test(line) || (inList && /^(?:\s|$)/.test(line))
    yield { at, text: line, fence, inList }
    fence = fenceAfter(line, fence, inList)
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

/** The fence that is open at a place, which is not within a line that opens or closes one. */
function fenceAt(text: string, place: number): Fence | undefined {
  let last: Line | undefined
  for (const line of linesOf(text, place)) last = line
  if (last === undefined) return undefined
  // The last line of all has no line after it that would tell.
  const isWhole = place === text.length && last.at < place
  return isWhole ? fenceAfter(last.text, last.fence, last.inList) : last.fence
}

/** The beginnings of lines up to `until`, and how good each is for a cut. */
function* lineCuts(text: string, until: number): Generator<{ readonly at: number; readonly rank: Rank }> {
  let previous = ''
  let inList = false
  for (const { at, text: line, fence } of linesOf(text, until)) {
    const isItem = fence === undefined && LIST_ITEM.test(line)
    const wasInList: boolean = inList
    inList = isItem || (wasInList && (line.trim() === '' || previous.trim() !== '' || /^\s{2,}/.test(line)))
    if (at > 0) yield { at, rank: rankOf(line, { previous, fence, isItem, inList: wasInList && inList }) }
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
