import type { Citations } from '../domain/context.ts'
import { joinRanges, rangesOf } from '../domain/messages/number-ranges.ts'

/** Maximum number of sources in a range; a larger range is not a citation. */
const MAX_RANGE_SOURCES = 100
/** Matches text within square brackets. The words inside are parsed separately. */
const BRACKETS = /\[([^[\]]{1,4000})\]/g
const BEGINNING = /^ ?sources? ?(?=\d)/
const SEPARATOR = / ?(?:,|&|and|sources?) ?/
const NUMBERS = /^(\d{1,9})(?: ?[-–] ?(\d{1,9}))?$/

/**
 * Returns the numbers of the sources that a text cites, such as `[source3]` or `[sources 3, 7 and 9-11]`. Citations
 * within code are ignored.
 */
export function citedNumbers(text: string): ReadonlySet<number> {
  const cited = new Set<number>()
  for (const prose of withoutCode(text))
    for (const [, inside = ''] of prose.matchAll(BRACKETS))
      for (const number of numbersIn(inside.replace(/\s+/g, ' ').toLowerCase())) cited.add(number)
  return cited
}

function numbersIn(inside: string): number[] {
  if (!BEGINNING.test(inside)) return []
  const items = inside.replace(BEGINNING, '').trimEnd().split(SEPARATOR)
  const ranges = items.filter((item) => item !== '').map((item) => NUMBERS.exec(item))
  if (ranges.some((range) => range === null)) return []
  return ranges.flatMap((range) => {
    const from = Number(range?.[1])
    const to = Number(range?.[2] ?? from)
    if (to - from >= MAX_RANGE_SOURCES) return []
    return Array.from({ length: Math.max(0, to - from + 1) }, (_, place) => from + place)
  })
}

const FENCE = /^ {0,3}(`{3,}|~{3,})(.*)$/

/** Returns the parts of a Markdown text outside fenced blocks and inline code. */
function withoutCode(text: string): string[] {
  const prose: string[] = []
  let paragraph: string[] = []
  let fence: string | undefined
  const end = (): void => {
    prose.push(withoutInlineCode(paragraph.join('\n')))
    paragraph = []
  }
  for (const line of text.split(/\r\n|\n|\r/)) {
    const [, mark = '', rest = ''] = FENCE.exec(line) ?? []
    if (fence !== undefined) {
      if (mark.startsWith(fence) && rest.trim() === '') fence = undefined
    } else if (mark !== '' && !(mark.startsWith('`') && rest.includes('`'))) {
      fence = mark
      end()
    } else if (line.trim() === '') end()
    else paragraph.push(line)
  }
  end()
  return prose
}

/** Removes inline code: the text between two runs of equally many backticks. */
function withoutInlineCode(paragraph: string): string {
  const runs = [...paragraph.matchAll(/`+/g)]
  // Indexes of the runs of backticks, by the runs' length, so that a closing run is found without a scan.
  const places = new Map<number, number[]>()
  for (const [place, [run]] of runs.entries()) {
    const same = places.get(run.length)
    if (same === undefined) places.set(run.length, [place])
    else same.push(place)
  }
  const next = new Map<number, number>()
  let kept = ''
  let from = 0
  for (let place = 0; place < runs.length; place++) {
    const opening = runs[place]
    const length = opening?.[0].length ?? 0
    const same = places.get(length) ?? []
    let at = next.get(length) ?? 0
    while ((same[at] ?? Infinity) <= place) at++
    next.set(length, at)
    const closing = runs[same[at] ?? -1]
    if (opening === undefined || closing === undefined) continue
    kept += `${paragraph.slice(from, opening.index)} `
    from = closing.index + closing[0].length
    place = same[at] ?? place
  }
  return kept + paragraph.slice(from)
}

/**
 * Returns the session's citations after a turn that ends with `text`; undefined if nothing changes. `ofTurn`: the
 * numbers of the turn's sources. `highest`: the highest number that a source has. Later requests omit sources that the
 * text does not cite, unless the text cites none.
 */
export function citationsAfter(
  text: string,
  ofTurn: readonly number[],
  highest: number,
  before: Citations = NO_CITATIONS,
): Citations | undefined {
  const cited = [...citedNumbers(text)].filter((number) => number >= 1 && number <= highest)
  if (ofTurn.length === 0 && cited.length === 0) return undefined
  const uncited = rangesOf(ofTurn.filter((number) => !cited.includes(number)))
  return {
    cited: joinRanges(before.cited, rangesOf(cited)),
    uncited: joinRanges(before.uncited, uncited),
    left: cited.length === 0 ? before.left : joinRanges(before.left, uncited),
  }
}

const NO_CITATIONS: Citations = { cited: [], uncited: [], left: [] }
