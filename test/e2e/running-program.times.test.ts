/* Evidence, durability: A cancel from any process takes effect within a second. A program that is stopped hands its runs off.
 * */
import { localBackend } from './backend/local-backend.ts'
import { runningProgramOn, startedByHandOn } from './rules/running-program.ts'

runningProgramOn(localBackend)
startedByHandOn(localBackend)
