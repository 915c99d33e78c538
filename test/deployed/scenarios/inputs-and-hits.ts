import { PutItemCommand, QueryCommand } from '@aws-sdk/client-dynamodb'
import type { SearchHit } from '../../e2e/backend/client.ts'
import { dynamodbClient } from '../../engines/clients.ts'
import type { System } from '../system.ts'
import { within } from './within.ts'

/**
 * Time that the specification promises for finding a new text in a serverless collection, in milliseconds.
 */
export const FOUND_MS = 60_000

/** A row of a message. */
export type Item = NonNullable<Awaited<ReturnType<typeof rowsOf>>[number]>

/** Sends an input to a session, which is created if needed. Returns the message's item. */
export async function said(system: System, session: string, content: string | readonly object[]): Promise<Item> {
  const { client } = system
  await client.send('POST', '/v1/sessions', { id: session })
  await client.post(`/v1/sessions/${session}/messages`, { content })
  const id = (await client.messages(session)).findLast(({ role }) => role === 'user')?.id
  const item = (await rowsOf(system, session)).find(({ sk }) => sk?.S === id)
  if (item === undefined) throw new Error('the message has no row')
  return item
}

/** The messages of a session, as they are stored. */
export async function rowsOf({ table, engines }: System, session: string) {
  const { Items = [] } = await dynamodbClient(engines.dynamodb).send(
    new QueryCommand({
      TableName: table,
      KeyConditionExpression: 'pk = :pk AND sk >= :first',
      ExpressionAttributeValues: { ':pk': { S: `S#acme#${session}` }, ':first': { S: '0' } },
    }),
  )
  return Items
}

/** Writes a row without the program. */
export async function put({ table, engines }: System, item: Item): Promise<void> {
  await dynamodbClient(engines.dynamodb).send(new PutItemCommand({ TableName: table, Item: item }))
}

/** Hits of a search for the word. */
export const hitsOf = async ({ client }: System, word: string): Promise<readonly SearchHit[]> =>
  (await client.get<{ data: readonly SearchHit[] }>(`/v1/search?q=${word}`)).data

/** Waits until a search finds the word. Throws after the time limit. */
export async function found(system: System, word: string, milliseconds = FOUND_MS): Promise<void> {
  await within(milliseconds, `the history of ${word}`, async () => (await hitsOf(system, word)).length > 0)
}
