import { localBackend } from '../../e2e/local-backend.ts'
import { killedImportsOn } from './killed-imports.ts'

killedImportsOn(localBackend)
