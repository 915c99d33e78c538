import { localBackend } from './backend/local-backend.ts'
import { runningProgramOn, startedByHandOn } from './rules/running-program.ts'

runningProgramOn(localBackend)
startedByHandOn(localBackend)
