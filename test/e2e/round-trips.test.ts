import { isCi } from '../is-ci.ts'
import { localBackend } from './local-backend.ts'
import { generatedRoundTripsOn, roundTripsOn } from './round-trips.ts'
import { oddest } from './transcripts/oddest.ts'

roundTripsOn(localBackend, (all) => (isCi ? oddest(all, 60) : all))
generatedRoundTripsOn(localBackend, 60)
