/** Limit of a media type with its parameters, in characters. */
const MAX_MEDIA_TYPE_CHARACTERS = 255
/** Names as in RFC 6838, section 4.2, then parameters with any characters that a header may contain. */
const MEDIA_TYPE =
  /^[A-Za-z0-9][A-Za-z0-9!#$&^_.+-]{0,126}\/[A-Za-z0-9][A-Za-z0-9!#$&^_.+-]{0,126}(?:[ \t]*;[\t -~]*)?$/

/** The type of unknown bytes. */
export const UNKNOWN_TYPE = 'application/octet-stream'

/** Whether a store can keep the type and a header can contain it. */
export const isMediaType = (text: string): boolean => text.length <= MAX_MEDIA_TYPE_CHARACTERS && MEDIA_TYPE.test(text)
