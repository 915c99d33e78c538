import { foldWithOffsets } from '../tokens/fold-text.ts'
import { readableAs, matchesOf } from '../query/term-matches.ts'
import type { PlannedTerm } from '../query/plan.ts'

/** Maximum characters (code points) of a snippet, including its marks and dots. */
export const SNIPPET = 300
/** Characters of the text in a snippet; the rest of `SNIPPET` is for the marks and dots. */
const WINDOW = 240
/** Characters of the window before its first match. */
const LEAD = 60
const OPEN = '«'
const CLOSE = '»'

interface Span {
  readonly start: number
  readonly end: number
}

/**
 * Returns the part of a text that contains the terms, at most 300 characters, with each match between « and ». Marks
 * are merged if they touch, or if only a space or a joiner separates them. Line breaks become spaces.
 */
export function snippet(text: string, terms: readonly PlannedTerm[]): string {
  const spans = matchSpans(text, terms)
  const window = chooseWindow(text, spans)
  const inside = merge(
    text,
    spans.filter((span) => span.start >= window.start && span.end <= window.end),
  )
  return clip(render(text, window, inside))
}

function matchSpans(text: string, terms: readonly PlannedTerm[]): Span[] {
  const { text: folded, original } = foldWithOffsets(text)
  const prepared = readableAs(folded)
  const found = terms.flatMap((term) => {
    const matches = matchesOf(term, prepared)
    const best = Math.max(0, ...matches.map((match) => match.quality))
    return matches.filter((match) => match.quality >= best * 0.6)
  })
  return found
    .map(({ start, end }) => ({ start: original(start), end: Math.max(original(end), original(start) + 1) }))
    .map(({ start, end }) => ({ start: toBoundary(text, start, -1), end: toBoundary(text, end, 1) }))
    .toSorted((left, right) => left.start - right.start || left.end - right.end)
}

/** Chooses the window with the most marked text. */
function chooseWindow(text: string, spans: readonly Span[]): Span {
  let best = { start: 0, end: Math.min(text.length, WINDOW) }
  let most = 0
  for (const { start: first } of spans) {
    const start = Math.max(0, Math.min(first - LEAD, text.length - WINDOW))
    const end = Math.min(text.length, start + WINDOW)
    const marked = new Set(
      spans.filter((span) => span.start >= start && span.end <= end).map((span) => text.slice(span.start, span.end)),
    )
    const covered = Array.from(marked).reduce((sum, mark) => sum + mark.length, 0)
    if (covered > most) [best, most] = [{ start, end }, covered]
  }
  return { start: toBoundary(text, best.start, -1), end: toBoundary(text, best.end, 1) }
}

function merge(text: string, spans: readonly Span[]): Span[] {
  const merged: Span[] = []
  for (const span of spans) {
    const last = merged.at(-1)
    if (last !== undefined && /^[-_./:@+#~\s]?$/u.test(text.slice(last.end, Math.max(last.end, span.start))))
      merged[merged.length - 1] = { start: last.start, end: Math.max(last.end, span.end) }
    else merged.push(span)
  }
  return merged
}

function render(text: string, window: Span, spans: readonly Span[]): string {
  let line = window.start > 0 ? '…' : ''
  let place = window.start
  for (const { start, end } of spans) {
    line += text.slice(place, start) + OPEN + text.slice(start, end) + CLOSE
    place = end
  }
  line += text.slice(place, window.end) + (window.end < text.length ? '…' : '')
  return line.replace(/\s+/gu, ' ').trim()
}

/** Truncates a line and closes its last mark. A window with many marked single letters may be too long. */
function clip(line: string): string {
  const characters = Array.from(line)
  if (characters.length <= SNIPPET) return line
  const kept = characters.slice(0, SNIPPET - 2).join('')
  return kept.lastIndexOf(OPEN) > kept.lastIndexOf(CLOSE) ? `${kept}${CLOSE}…` : `${kept}…`
}

function toBoundary(text: string, place: number, direction: 1 | -1): number {
  const code = text.charCodeAt(place)
  const before = text.charCodeAt(place - 1)
  return code >= 0xdc00 && code <= 0xdfff && before >= 0xd800 && before <= 0xdbff ? place + direction : place
}

/** Returns a snippet's text without marks. If the text itself contains « or », these are removed too. */
export const withoutMarks = (marked: string): string => marked.replaceAll(OPEN, '').replaceAll(CLOSE, '')
