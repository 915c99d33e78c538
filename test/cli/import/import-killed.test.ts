/* Evidence, imports: An import that is killed repeatedly stores every message once and in order. */
import { localBackend } from '../../e2e/backend/local-backend.ts'
import { killedImportsOn } from './killed-imports.ts'

killedImportsOn(localBackend)
