/**
 * Encodes a text for a column, so that equal columns mean equal texts. SQLite would store every lone surrogate as the
 * same replacement character.
 */
export const toColumn = (text: string): string => JSON.stringify(text).slice(1, -1)

/** Decodes the text of `toColumn`. */
export const fromColumn = (column: string): string => JSON.parse(`"${column}"`) as string
