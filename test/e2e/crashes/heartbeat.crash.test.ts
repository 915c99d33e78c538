/* Evidence, durability: A program that is killed at a heartbeat loses nothing. */
import { localBackend } from '../backend/local-backend.ts'
import { heartbeatKillsOn } from './heartbeat-kills.ts'
import { isWhole } from '../../whole.ts'

// In the last scenario, the later heartbeats occur while the model is silent.
const all = { queued: [1, 2, 4], steer: [1, 2, 4], silent: [2, 12, 24] }
heartbeatKillsOn(localBackend, isWhole ? all : { queued: [1], steer: [4], silent: [12] })
