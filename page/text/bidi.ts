/** Characters that change the direction of text, and are not seen themselves. */
const BIDI = /[\u061C\u200E\u200F\u202A-\u202E\u2066-\u2069]/g

/** A text in which such characters are seen, as `\u202e`: what somebody decides by is to read as it is. */
export const withBidiShown = (text: string): string =>
  text.replaceAll(BIDI, (mark) => `\\u${mark.charCodeAt(0).toString(16).padStart(4, '0')}`)
