/* Evidence, durability: A cancel takes effect within a second from any process, and a stopped program hands its
 * runs off. */
import { localBackend } from './backend/local-backend.ts'
import { runningProgramOn, startedByHandOn } from './rules/running-program.ts'

runningProgramOn(localBackend)
startedByHandOn(localBackend)
