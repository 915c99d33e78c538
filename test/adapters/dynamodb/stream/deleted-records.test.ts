/* Evidence, cloud: When a session is deleted, its contents are also removed from Lambda's failed batches. */
import { expect, test } from 'vitest'
import {
  askedOnce,
  stripDeleted as strippedOf,
} from '../../../../functions/adapters/dynamodb/stream/deleted-records.ts'
import type { SessionKey } from '../../../../functions/domain/session.ts'
import {
  createDynamoRowRecords,
  type StreamRecord,
} from '../../../../functions/adapters/dynamodb/stream/row-records.ts'

const ID = '01ARZ3NDEKTSV4RRFFQ69G5FAV'
const keysOf = (session: string) => ({ pk: { S: `S#acme#${session}` }, sk: { S: ID } })
const itemOf = (session: string) => ({
  ...keysOf(session),
  rev: { N: '3' },
  role: { S: 'tool' },
  documents: { N: '2' },
  body: { S: 'what was said' },
})
const removal = (session: string): StreamRecord => ({
  dynamodb: { SequenceNumber: '1', Keys: keysOf(session), OldImage: itemOf(session) },
})
const stored = (session: string): StreamRecord => ({
  dynamodb: { SequenceNumber: '2', Keys: keysOf(session), NewImage: itemOf(session), OldImage: itemOf(session) },
})
function stripDeleted(isDeleted: (key: SessionKey) => Promise<boolean>) {
  const asked = askedOnce(isDeleted)
  return (record: StreamRecord) => strippedOf(record, asked)
}
const outputs = { put: none, read: none, stat: none, link: none, remove: none, removeAll: none }
async function none(): Promise<never> {
  throw new Error('nothing is read')
}

test('the record of a deleted session retains the ids of its documents but no text', async () => {
  const strip = stripDeleted(async ({ session }) => session === 'gone')
  expect(await strip(stored('gone'))).toBeUndefined()
  const stripped = await strip(removal('gone'))
  expect(JSON.stringify(stripped)).not.toContain('said')
  const records = createDynamoRowRecords({ outputs })
  expect(stripped && records.change(stripped)).toEqual(records.change(removal('gone')))
  // Stripping a stripped record changes nothing.
  expect(stripped && (await strip(stripped))).toBe(stripped)
})

test('records of other sessions, and records without a session, are unchanged; each session is read once', async () => {
  const asked: string[] = []
  const strip = stripDeleted(async ({ session }) => {
    asked.push(session)
    return false
  })
  const other: StreamRecord = { dynamodb: { Keys: { pk: { S: 'K#hash' }, sk: { S: '#KEY' } } } }
  for (const record of [removal('kept'), stored('kept'), other]) expect(await strip(record)).toBe(record)
  expect(asked).toEqual(['kept'])
})
