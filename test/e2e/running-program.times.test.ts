import { localBackend } from './local-backend.ts'
import { runningProgramOn, startedByHandOn } from './running-program.ts'

runningProgramOn(localBackend)
startedByHandOn(localBackend)
