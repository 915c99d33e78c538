/* Evidence, durability: Inputs of four processes to one session run once each, in order: the log has no fork. */
import { localBackend } from './backend/local-backend.ts'
import { racesOn } from './rules/races.ts'

racesOn(localBackend, { inputs: 200, asked: 10, perKill: 20 })
