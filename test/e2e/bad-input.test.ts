import { badInputOn } from './bad-input.ts'
import { localBackend } from './local-backend.ts'

badInputOn(localBackend)
