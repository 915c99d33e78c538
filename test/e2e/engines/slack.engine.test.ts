import { withEngines } from '../../engines/with-engines.ts'
import { awsBackend } from '../backend/aws-backend.ts'
import { slackOn } from '../rules/slack.ts'

withEngines(['dynamodb', 'opensearch', 's3', 'sqs'], (endpoints) => slackOn(awsBackend(endpoints)))
