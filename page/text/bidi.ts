/** Matches invisible characters that change the direction of text. */
const BIDI = /[\u061C\u200E\u200F\u202A-\u202E\u2066-\u2069]/g

/** Replaces characters that change the direction of text, which could mislead readers, with escapes such as `\u202e`. */
export const withBidiShown = (text: string): string =>
  text.replaceAll(BIDI, (mark) => `\\u${mark.charCodeAt(0).toString(16).padStart(4, '0')}`)
