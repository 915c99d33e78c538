import { withEngines } from '../engines/with-engines.ts'
import { awsBackend } from './aws-backend.ts'
import { slackOn } from './slack.ts'

withEngines(['dynamodb', 'opensearch', 's3', 'sqs'], (endpoints) => slackOn(awsBackend(endpoints)))
