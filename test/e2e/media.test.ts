/* Evidence, replay: No row, log line or index document has bytes of media; exports restore them, a link or a note. */
import { localBackend } from './backend/local-backend.ts'
import { mediaOn } from './rules/media.ts'

mediaOn(localBackend)
