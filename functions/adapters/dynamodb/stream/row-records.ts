import { isUlid } from '../../../domain/ids.ts'
import type { Message } from '../../../domain/messages/message.ts'
import type { SessionKey } from '../../../domain/session.ts'
import type { MessageRow, RowRecords } from '../../../ports/message-rows.ts'
import type { OutputStore } from '../../../ports/output-store.ts'
import { numberAt, requiredText, textAt, type Item } from '../attributes.ts'
import { createBodies, type Bodies } from '../log/messages/bodies.ts'
import { EXPIRY, REPLACEMENT_PREFIX, sessionOf } from '../keys.ts'
import { messageOf } from '../log/messages/message-item.ts'

/** A record of the table's stream, as passed to a Lambda function or returned by the client of the streams. */
export interface StreamRecord {
  readonly dynamodb?:
    | {
        readonly SequenceNumber?: string | undefined
        /** In seconds since 1970 if it is a number. */
        readonly ApproximateCreationDateTime?: number | Date | undefined
        readonly Keys?: Item | undefined
        readonly NewImage?: Item | undefined
        readonly OldImage?: Item | undefined
      }
    | undefined
}

/** Creates the reader of the stream's records (new and old images). Spilled texts are read from `outputs`. */
export function createDynamoRowRecords({ outputs }: { readonly outputs: OutputStore }): RowRecords<StreamRecord> {
  const bodies = createBodies({ outputs })
  return {
    sequence: ({ dynamodb }) => dynamodb?.SequenceNumber ?? '',
    at({ dynamodb }) {
      const made = dynamodb?.ApproximateCreationDateTime
      return typeof made === 'number' ? made * 1_000 : made?.getTime()
    },
    change({ dynamodb }) {
      const { NewImage: now, OldImage: before } = dynamodb ?? {}
      if (now !== undefined) return isMessage(now) ? { stored: rowOf(bodies, now) } : undefined
      if (before === undefined || !isMessage(before)) return undefined
      const { message: _, ...removed } = rowOf(bodies, before)
      return { removed }
    },
    superseded({ dynamodb }) {
      const item = dynamodb?.NewImage
      if (item === undefined || textAt(item, 'sk')?.startsWith(REPLACEMENT_PREFIX) !== true) return undefined
      const [from, through] = [textAt(item, 'first'), textAt(item, 'last')]
      return from === undefined || through === undefined
        ? undefined
        : { key: sessionOf(item), range: { from, through } }
    },
  }
}

/** Returns the session whose expiry item was removed, by DynamoDB or by a deletion; undefined for other records. */
export function expiryRemoved({ dynamodb }: StreamRecord): SessionKey | undefined {
  const { NewImage: now, OldImage: before } = dynamodb ?? {}
  return now === undefined && before !== undefined && textAt(before, 'sk') === EXPIRY ? sessionOf(before) : undefined
}

/** Whether the item is a message. Only messages have both a role and an id as their sort key. */
export const isMessage = (item: Item): boolean => isUlid(textAt(item, 'sk') ?? '') && textAt(item, 'role') !== undefined

/** Returns the message row of an item. */
export function rowOf(bodies: Bodies, item: Item): MessageRow {
  const key = sessionOf(item)
  return {
    key,
    messageId: requiredText(item, 'sk'),
    revision: numberAt(item, 'rev') ?? 0,
    role: requiredText(item, 'role') as Message['role'],
    documents: numberAt(item, 'documents') ?? 0,
    message: () => messageOf(bodies, key, item),
  }
}
