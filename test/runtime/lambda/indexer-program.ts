import { readFile } from 'node:fs/promises'
import type { Context, DynamoDBStreamEvent } from 'aws-lambda'
import { readIndexerSettings } from '../../../functions/runtime/settings/function-settings.ts'
import { createIndexerHandler } from '../../../functions/runtime/lambda/indexer.ts'
import { sayMemory } from '../../history/memory-of.ts'

/** A program that executes one invocation of the indexer's handler. Its argument names the file with the event. */
const event = JSON.parse(await readFile(process.argv[2] ?? '', 'utf8')) as DynamoDBStreamEvent
const handler = createIndexerHandler(readIndexerSettings())
const started = Date.now()
const context = { getRemainingTimeInMillis: () => 600_000 - (Date.now() - started) } as Context
await handler({ Records: [] }, context)
await sayMemory(async () => ({ ...(await handler(event, context)), seconds: (Date.now() - started) / 1_000 }))
