/**
 * The origin of a session's title. `given`: set by hand. `agent`: set by an importing program. `model`: made under the
 * policy `titles`. `input`: the first line of the first input.
 */
export type TitleSource = 'given' | 'agent' | 'model' | 'input'

export interface SessionTitle {
  readonly text: string
  readonly source: TitleSource
}

const RANKS: { readonly [source in TitleSource]: number } = { given: 4, agent: 3, model: 2, input: 1 }

/**
 * Whether a new title from this source automatically replaces the stored title. An `agent` title replaces an earlier
 * `agent` title. A `given` title is never replaced automatically: only `SessionStore.update` changes it.
 */
export function replacesTitle(source: TitleSource, stored: TitleSource | undefined): boolean {
  if (stored === undefined) return true
  return source === 'agent' ? stored !== 'given' : RANKS[source] > RANKS[stored]
}

/** Limit of a title, in UTF-16 units. */
export const MAX_TITLE_LENGTH = 500

const COPY = ' (copy)'

/** The title of a fork: the original title with `(copy)` at its end. The source of the title stays the same. */
export function titleOfCopy({ text, source }: SessionTitle): SessionTitle {
  const maxCharacters = MAX_TITLE_LENGTH - COPY.length
  const kept = text.length <= maxCharacters ? text : `${cutBefore(text, maxCharacters - 1)}…`
  return { text: `${kept}${COPY}`, source }
}

/** Truncates a text to `length` units, without splitting a surrogate pair. */
export function cutBefore(text: string, length: number): string {
  const last = text.charCodeAt(length - 1)
  const isHigh = last >= 0xd800 && last < 0xdc00
  return text.slice(0, isHigh ? length - 1 : length)
}
