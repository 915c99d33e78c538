import { localBackend } from './backend/local-backend.ts'
import { slackOn } from './rules/slack.ts'

slackOn(localBackend)
