import { ScanCommand } from '@aws-sdk/client-dynamodb'
import { definedFields } from '../../../domain/defined-fields.ts'
import type { MessageRow, MessageRows } from '../../../ports/message-rows.ts'
import type { Item } from '../attributes.ts'
import { all, between, createScope, is, present } from '../expressions.ts'
import { messageKey, partitionOf } from '../keys.ts'
import { messageOf } from '../log/messages/message-item.ts'
import { createRetry } from '../retry.ts'
import { isMessage, rowOf } from './row-records.ts'
import { createSessionRows, type DynamoDependencies } from '../log/sessions/session-rows.ts'

/** Creates the reader of every message row in the table. Reads are strongly consistent. */
export function createDynamoMessageRows(dependencies: DynamoDependencies): MessageRows {
  const { client, tableName, clock } = dependencies
  const { table, bodies } = createSessionRows(dependencies)
  const retry = createRetry(clock)
  return {
    async row(key, messageId) {
      const item = await table.read(messageKey(key, messageId))
      return item === undefined || !isMessage(item) ? undefined : rowOf(bodies, item)
    },
    async *between({ key, range: { from, through } }) {
      const keys = all(is('pk', partitionOf(key)), between('sk', from, through))
      for await (const item of table.query({ keys })) {
        if (!isMessage(item)) continue
        const { message: _, ...row } = rowOf(bodies, item)
        yield {
          ...row,
          message: async () => messageOf(bodies, key, (await table.read(messageKey(key, row.messageId))) ?? item),
        }
      }
    },
    async *scan(segment, segments) {
      let start: Item | undefined
      do {
        const scope = createScope()
        const page = await retry('scan', () =>
          client.send(
            new ScanCommand({
              TableName: tableName,
              ConsistentRead: true,
              Segment: segment,
              TotalSegments: segments,
              FilterExpression: present('role')(scope),
              ...scope.collected(),
              ...definedFields({ ExclusiveStartKey: start }),
            }),
          ),
        )
        yield (page.Items ?? []).filter(isMessage).map((item): MessageRow => rowOf(bodies, item))
        start = page.LastEvaluatedKey
      } while (start !== undefined)
    },
  }
}
