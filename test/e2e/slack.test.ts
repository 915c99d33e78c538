import { localBackend } from './local-backend.ts'
import { slackOn } from './slack.ts'

slackOn(localBackend)
