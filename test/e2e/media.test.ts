import { localBackend } from './local-backend.ts'
import { mediaOn } from './media.ts'

mediaOn(localBackend)
