/** Characters of a media type with its parameters. */
const MAX_MEDIA_TYPE_CHARACTERS = 255
/** The names of RFC 6838, section 4.2, then parameters: whatever a header may hold. */
const MEDIA_TYPE =
  /^[A-Za-z0-9][A-Za-z0-9!#$&^_.+-]{0,126}\/[A-Za-z0-9][A-Za-z0-9!#$&^_.+-]{0,126}(?:[ \t]*;[\t -~]*)?$/

/** The type of bytes of which nothing is known. */
export const UNKNOWN_TYPE = 'application/octet-stream'

/** Whether a store can keep it and a header can name it. */
export const isMediaType = (text: string): boolean => text.length <= MAX_MEDIA_TYPE_CHARACTERS && MEDIA_TYPE.test(text)
