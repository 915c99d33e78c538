import { localBackend } from '../../e2e/backend/local-backend.ts'
import { killedImportsOn } from './killed-imports.ts'

killedImportsOn(localBackend)
