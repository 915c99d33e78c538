import type { RequestMedia } from '../../domain/model-request.ts'

/** Returns the text that replaces media which a model cannot get. */
export function mediaText(part: RequestMedia): string {
  return `[${part.filename ?? part.type} (${part.mediaType}) cannot be shown here]`
}
