/* Evidence, replay: No row, log line or index document contains bytes of media. Exports contain the bytes, a link or a note. */
import { withEngines } from '../../engines/with-engines.ts'
import { awsBackend } from '../backend/aws-backend.ts'
import { mediaOn } from '../rules/media.ts'

withEngines(['dynamodb', 'opensearch', 's3', 'sqs'], (endpoints) => mediaOn(awsBackend(endpoints)))
