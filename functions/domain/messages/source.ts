/** The origin of a tool's result. */
export interface Source {
  readonly title: string
  /** An http or https address. */
  readonly url?: string
  readonly text?: string
  /** The tool's own id of the source. */
  readonly id?: string
}

/** Limit of one result's sources. */
export const MAX_SOURCES = 100

/**
 * The numbers of one result's sources: the first source has the number `from`, and the others follow. The
 * numbers are recorded in the first completion whose request used the sources, and they never change.
 */
export interface NumberedSources {
  /** The id of the tool message. */
  readonly message: string
  readonly from: number
  readonly count: number
}

/**
 * Limit of the results whose sources one completion can number. The numbers take 140 KB as JSON, which fits into one
 * DynamoDB item.
 */
export const MAX_NUMBERED_RESULTS = 2_000

/**
 * Number of rows that the source numbers of these results need. An imported completion may record more numbers than one
 * row can hold.
 */
export const rowsOfNumbers = (results: number): number => Math.ceil(results / MAX_NUMBERED_RESULTS)

/**
 * Highest source number that is accepted from another log. Numbers that are assigned later are higher, and still fit
 * into the nine digits of a citation.
 */
export const HIGHEST_NUMBER = 100_000_000

const MAX_FIELD_CHARACTERS = { title: 2_000, url: 4_000, id: 1_000 } as const

/** The reason why a value is not a source; undefined if it is one. */
export function sourceFault(value: unknown): string | undefined {
  if (typeof value !== 'object' || value === null) return 'is no object'
  const { title, url, text, id } = value as { readonly [field in keyof Source]: unknown }
  if (typeof title !== 'string' || title.trim() === '') return 'has no title'
  if (url !== undefined && !isWebAddress(url)) return 'has a url that is not http or https'
  if (text !== undefined && typeof text !== 'string') return 'has a text that is no string'
  if (id !== undefined && typeof id !== 'string') return 'has an id that is no string'
  const long = Object.entries({ title, url, id }).find(
    ([field, value]) =>
      typeof value === 'string' && value.length > MAX_FIELD_CHARACTERS[field as keyof typeof MAX_FIELD_CHARACTERS],
  )
  return long === undefined
    ? undefined
    : `has a ${long[0]} of more than ${MAX_FIELD_CHARACTERS[long[0] as keyof typeof MAX_FIELD_CHARACTERS]} characters`
}

/** An address that fits on a line of a request: without spaces or control characters. */
const WEB_ADDRESS = /^https?:\/\/[^\s\p{Cc}]+$/iu

const isWebAddress = (url: unknown): boolean => typeof url === 'string' && WEB_ADDRESS.test(url) && URL.canParse(url)

const LINE_BREAK = /\r\n|[\n\v\f\r\u0085\u2028\u2029]/g

/** A source without its text, on one line. */
export const sourceHead = ({ title, url }: Source): string =>
  `${title.replace(LINE_BREAK, ' ')}${url === undefined ? '' : ` — ${url}`}`
