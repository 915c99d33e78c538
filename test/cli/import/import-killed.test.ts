/* Evidence, imports: An import that is killed again and again has every message once and in order. */
import { localBackend } from '../../e2e/backend/local-backend.ts'
import { killedImportsOn } from './killed-imports.ts'

killedImportsOn(localBackend)
