import { isCi } from '../is-ci.ts'
import { localBackend } from './backend/local-backend.ts'
import { generatedRoundTripsOn, roundTripsOn } from './rules/round-trips.ts'
import { oddest } from './transcripts/oddest.ts'

roundTripsOn(localBackend, (all) => (isCi ? oddest(all, 60) : all))
generatedRoundTripsOn(localBackend, 60)
