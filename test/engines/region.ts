import { randomUUID } from 'node:crypto'

/**
 * The region of a test file's clients, and of the processes that it starts. DynamoDB Local has one database per region. In a
 * shared database, each record of any file slows down the reading of streams.
 */
export const REGION = (process.env['AWS_REGION'] ??= `test-${randomUUID().slice(0, 8)}`)
