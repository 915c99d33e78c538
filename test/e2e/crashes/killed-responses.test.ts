/* Evidence, api: After kill -9, a client that resumes a Response gets the text of one attempt. */
import { localBackend } from '../backend/local-backend.ts'
import { killedResponsesOn } from '../rules/killed-responses.ts'

killedResponsesOn(localBackend)
