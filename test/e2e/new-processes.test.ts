import { localBackend } from './local-backend.ts'
import { newProcessesOn } from './new-processes.ts'

newProcessesOn(localBackend)
