import { randomUUID } from 'node:crypto'

/**
 * The region of a test file's clients, and of the processes that it starts. DynamoDB Local keeps a database for each region: in one
 * that all files share, reading a stream takes longer with every record that any of them has left.
 */
export const REGION = (process.env['AWS_REGION'] ??= `test-${randomUUID().slice(0, 8)}`)
