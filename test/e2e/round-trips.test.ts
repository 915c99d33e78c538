import { localBackend } from './local-backend.ts'
import { roundTripsOn } from './round-trips.ts'

roundTripsOn(localBackend)
