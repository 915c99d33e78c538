import { localBackend } from './backend/local-backend.ts'
import { mediaOn } from './rules/media.ts'

mediaOn(localBackend)
