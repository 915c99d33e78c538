/* Evidence, replay: New processes for each input send the requests of a program that never stopped, for teams as
 * well. */
import { localBackend } from './backend/local-backend.ts'
import { newProcessesOn } from './rules/new-processes.ts'

newProcessesOn(localBackend)
