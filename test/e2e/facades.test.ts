import { facadesOn } from './facades.ts'
import { localBackend } from './local-backend.ts'

facadesOn(localBackend)
