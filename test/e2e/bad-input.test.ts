/* Evidence, api: Bad input gets a clear 4xx and stores nothing. */
import { badInputOn } from './rules/bad-input.ts'
import { localBackend } from './backend/local-backend.ts'

badInputOn(localBackend)
