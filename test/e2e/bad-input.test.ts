import { badInputOn } from './rules/bad-input.ts'
import { localBackend } from './backend/local-backend.ts'

badInputOn(localBackend)
