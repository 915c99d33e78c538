import { localBackend } from './local-backend.ts'
import { generatedRoundTripsOn, roundTripsOn } from './round-trips.ts'

roundTripsOn(localBackend)
generatedRoundTripsOn(localBackend, 60)
