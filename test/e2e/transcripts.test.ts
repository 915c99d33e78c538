import { localBackend } from './local-backend.ts'
import { transcriptsOn } from './transcripts.ts'

transcriptsOn(localBackend)
