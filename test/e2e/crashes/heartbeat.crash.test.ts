import { localBackend } from '../local-backend.ts'
import { heartbeatKillsOn } from './heartbeat-kills.ts'

// The later ones of the last come while its model is silent.
heartbeatKillsOn(localBackend, { queued: [1, 2, 4], steer: [1, 2, 4], silent: [2, 12, 24] })
