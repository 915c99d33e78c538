import { localBackend } from './backend/local-backend.ts'
import { newProcessesOn } from './rules/new-processes.ts'

newProcessesOn(localBackend)
