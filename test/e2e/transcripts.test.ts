/* Evidence, replay: The log returns all recorded conversations unchanged, byte for byte. */
import { isWhole } from '../whole.ts'
import { localBackend } from './backend/local-backend.ts'
import { transcriptsOn } from './rules/transcripts.ts'
import { oddest } from './transcripts/oddest.ts'

transcriptsOn(localBackend, (all) => (isWhole ? all : oddest(all, 40)))
