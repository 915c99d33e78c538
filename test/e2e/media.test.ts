/* Evidence, replay: No row, log line or index document contains bytes of media. Exports contain the bytes, a link or a note. */
import { localBackend } from './backend/local-backend.ts'
import { mediaOn } from './rules/media.ts'

mediaOn(localBackend)
