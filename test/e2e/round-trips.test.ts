/* Evidence, imports: After an import of a native export, the messages equal the exported ones. */
import { isWhole } from '../whole.ts'
import { localBackend } from './backend/local-backend.ts'
import { generatedRoundTripsOn, roundTripsOn } from './rules/round-trips.ts'
import { oddest } from './transcripts/oddest.ts'

roundTripsOn(localBackend, (all) => (isWhole ? all : oddest(all, 28)))
generatedRoundTripsOn(localBackend, isWhole ? 60 : 25)
