import { localBackend } from './local-backend.ts'
import { racesOn } from './races.ts'

racesOn(localBackend, { inputs: 200, asked: 10, perKill: 20 })
