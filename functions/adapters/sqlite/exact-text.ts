/**
 * A text for a column of its own, such that equal columns mean equal texts: SQLite would store every lone surrogate as the
 * same replacement character.
 */
export const toColumn = (text: string): string => JSON.stringify(text).slice(1, -1)

/** The text that `toColumn` was given. */
export const fromColumn = (column: string): string => JSON.parse(`"${column}"`) as string
