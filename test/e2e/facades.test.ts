import { facadesOn } from './rules/facades.ts'
import { localBackend } from './backend/local-backend.ts'

facadesOn(localBackend)
