/* Evidence, replay: A program that restarts before each input sends the same requests as a program that never stopped, for
 * teams, too. */
import { localBackend } from './backend/local-backend.ts'
import { newProcessesOn } from './rules/new-processes.ts'

newProcessesOn(localBackend)
