import { ListTablesCommand } from '@aws-sdk/client-dynamodb'
import { ListBucketsCommand } from '@aws-sdk/client-s3'
import { ListQueuesCommand } from '@aws-sdk/client-sqs'
import { expect, test } from 'vitest'
import { dynamodbClient, s3Client, sqsClient } from './clients.ts'
import { withEngines } from './with-engines.ts'

withEngines(['dynamodb'], ({ dynamodb }) => {
  test('DynamoDB responds', async () => {
    expect((await dynamodbClient(dynamodb).send(new ListTablesCommand({}))).TableNames).toBeInstanceOf(Array)
  })
})

withEngines(['s3'], ({ s3 }) => {
  test('S3 responds', async () => {
    expect((await s3Client(s3).send(new ListBucketsCommand({}))).Buckets).toBeInstanceOf(Array)
  })
})

withEngines(['sqs'], ({ sqs }) => {
  test('SQS responds', async () => {
    expect((await sqsClient(sqs).send(new ListQueuesCommand({}))).$metadata.httpStatusCode).toBe(200)
  })
})

withEngines(['opensearch'], ({ opensearch }) => {
  test('OpenSearch responds', async () => {
    expect((await fetch(opensearch)).status).toBe(200)
  })
})
