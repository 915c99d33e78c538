/* Evidence, clients: The client packages of four formats work while the program's processes are replaced. */
import { facadesOn } from './rules/facades.ts'
import { localBackend } from './backend/local-backend.ts'

facadesOn(localBackend)
