/* Evidence, replay: A program that restarts before each input sends the same requests as one that never stopped, also
 * for teams. */
import { localBackend } from './backend/local-backend.ts'
import { newProcessesOn } from './rules/new-processes.ts'

newProcessesOn(localBackend)
