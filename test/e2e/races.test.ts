import { localBackend } from './backend/local-backend.ts'
import { racesOn } from './rules/races.ts'

racesOn(localBackend, { inputs: 200, asked: 10, perKill: 20 })
