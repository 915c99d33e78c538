/* Evidence, durability: Four processes send inputs to one session. Each input runs once and in order, and the log has no
 * fork. */
import { isWhole } from '../whole.ts'
import { localBackend } from './backend/local-backend.ts'
import { racesOn } from './rules/races.ts'

racesOn(localBackend, isWhole ? { inputs: 200, asked: 10, perKill: 20 } : { inputs: 32, asked: 3, perKill: 4 })
