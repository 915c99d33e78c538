/** Where a tool's result comes from. */
export interface Source {
  readonly title: string
  /** http or https. */
  readonly url?: string
  readonly text?: string
  /** The tool's own name for it. */
  readonly id?: string
}

/** Sources that one result may have. */
export const MAX_SOURCES = 100

/**
 * The numbers of a result's sources: its first source has `from`, the next one more. The completion whose request used them
 * first records them; they never change.
 */
export interface NumberedSources {
  /** The tool message. */
  readonly message: string
  readonly from: number
  readonly count: number
}

/** Limit of the results whose sources one completion numbers: 140 KB as JSON, which one item of DynamoDB holds. */
export const MAX_NUMBERED_RESULTS = 2_000

/** Number of rows for the source numbers of these results: a completion of another log may record more than one row holds. */
export const rowsOfNumbers = (results: number): number => Math.ceil(results / MAX_NUMBERED_RESULTS)

/** As far as numbers of another log go: what comes after them still has the nine digits of a citation. */
export const HIGHEST_NUMBER = 100_000_000

const MAX_FIELD_CHARACTERS = { title: 2_000, url: 4_000, id: 1_000 } as const

/** Why something is no source; undefined if it is one. */
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

/** As it stands in a line of a request: without spaces or control characters. */
const WEB_ADDRESS = /^https?:\/\/[^\s\p{Cc}]+$/iu

const isWebAddress = (url: unknown): boolean => typeof url === 'string' && WEB_ADDRESS.test(url) && URL.canParse(url)

const LINE_BREAK = /\r\n|[\n\v\f\r\u0085\u2028\u2029]/g

/** A source without its text, in one line. */
export const sourceHead = ({ title, url }: Source): string =>
  `${title.replace(LINE_BREAK, ' ')}${url === undefined ? '' : ` — ${url}`}`
