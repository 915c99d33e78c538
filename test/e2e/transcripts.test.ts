import { isCi } from '../is-ci.ts'
import { localBackend } from './backend/local-backend.ts'
import { transcriptsOn } from './rules/transcripts.ts'
import { oddest } from './transcripts/oddest.ts'

transcriptsOn(localBackend, (all) => (isCi ? oddest(all, 90) : all))
