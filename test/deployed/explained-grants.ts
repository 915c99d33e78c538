import type { FunctionName } from './system.ts'

const LOGS = 'Lambda writes what the function prints with its role; nothing prints to CloudWatch here'
const PARTS = 'an upload in parts is called off when one of them fails'
const CHECKS =
  'a tool that may not be repeated is told to be interrupted, or begins with an approval, under a check of the lease'
const QUEUE = 'Lambda receives and deletes the hints with its role'
const STREAM = 'Lambda reads the stream with its role'
const FORGOTTEN =
  'records of a deleted session are taken out of batches that were given up, of which there are none when sessions are deleted here'
const ADOPTION = 'a session of an earlier version gets its title and list entries; the suite has no such session'
const FAILURES = 'Lambda writes what was given up with its role'

/** Grants that only some environments have. A role may have them although its function does not use them here. */
export const EXPLAINED_WHERE_GRANTED: readonly (readonly [grant: RegExp, why: string])[] = [
  [
    /^aoss:CreateCollectionItems on collection\//,
    'the first index is given its aliases by POST /_aliases, which the published list calls an update: AWS may ask for either',
  ],
  [/^bedrock:InvokeModel/, 'a model on this machine takes the place of that of Bedrock'],
]

/** For each role: the grants that some runs of this suite leave unused, each with the reason. */
export const EXPLAINED: { readonly [name in FunctionName]: Readonly<Record<string, string>> } = {
  Api: {
    'dynamodb:ConditionCheckItem on LogTable': CHECKS,
    'logs:CreateLogStream on TooltrailApiLogs': LOGS,
    'logs:PutLogEvents on TooltrailApiLogs': LOGS,
    's3:AbortMultipartUpload on OutputsBucket/*': PARTS,
  },
  Worker: {
    'dynamodb:ConditionCheckItem on LogTable': CHECKS,
    'logs:CreateLogStream on TooltrailWorkerLogs': LOGS,
    'logs:PutLogEvents on TooltrailWorkerLogs': LOGS,
    's3:AbortMultipartUpload on OutputsBucket/*': PARTS,
    'sqs:DeleteMessage on TooltrailRunsQueue': QUEUE,
    'sqs:GetQueueAttributes on TooltrailRunsQueue': QUEUE,
    'sqs:ReceiveMessage on TooltrailRunsQueue': QUEUE,
  },
  Indexer: {
    'dynamodb:DescribeStream on LogTable/stream/1': STREAM,
    'dynamodb:GetRecords on LogTable/stream/1': STREAM,
    'dynamodb:GetShardIterator on LogTable/stream/1': STREAM,
    'dynamodb:ListStreams on LogTable/stream/1': STREAM,
    'logs:CreateLogStream on TooltrailIndexerLogs': LOGS,
    'logs:PutLogEvents on TooltrailIndexerLogs': LOGS,
    's3:ListBucket on OutputsBucket': 'without it S3 tells of an object that is gone as one that is forbidden',
    's3:ListBucket on TooltrailStreamFailures': FAILURES,
    's3:PutObject on TooltrailStreamFailures/*': FAILURES,
  },
  Sweeper: {
    'dynamodb:PutItem on LogTable': ADOPTION,
    's3:GetObject on OutputsBucket/*': ADOPTION,
    's3:DeleteObject on TooltrailStreamFailures/*': FORGOTTEN,
    's3:GetObject on TooltrailStreamFailures/*': FORGOTTEN,
    's3:PutObject on TooltrailStreamFailures/*': FORGOTTEN,
    'logs:CreateLogStream on TooltrailSweeperLogs': LOGS,
    'logs:PutLogEvents on TooltrailSweeperLogs': LOGS,
  },
}
