import { DeleteObjectCommand, GetObjectCommand, paginateListObjectsV2 } from '@aws-sdk/client-s3'
import type { S3Client } from '@aws-sdk/client-s3'
import * as z from 'zod'

/** A batch of stream records that Lambda gave up on and stored in a bucket. */
export interface FailedRecords {
  readonly records: readonly unknown[]
  forget(): Promise<void>
}

/** Schema of the fields that are read from a failed batch. `payload` is the function's event as text. */
const Invocation = z.object({ payload: z.union([z.string(), z.looseObject({})]) })
const Event = z.object({ Records: z.array(z.unknown()) })

/** Yields the batches in the bucket, ordered by key. Rejects at an unreadable batch; the error names its key. */
export async function* failedRecords({
  client,
  bucket,
}: {
  readonly client: S3Client
  readonly bucket: string
}): AsyncIterable<FailedRecords> {
  for await (const page of paginateListObjectsV2({ client }, { Bucket: bucket })) {
    for (const { Key: key } of page.Contents ?? []) {
      const { Body: body } = await client.send(new GetObjectCommand({ Bucket: bucket, Key: key }))
      yield {
        records: recordsOf(key ?? '', (await body?.transformToString()) ?? ''),
        async forget() {
          await client.send(new DeleteObjectCommand({ Bucket: bucket, Key: key }))
        },
      }
    }
  }
}

/** Counts the batches in the bucket. */
export async function countFailedRecords({
  client,
  bucket,
}: {
  readonly client: S3Client
  readonly bucket: string
}): Promise<number> {
  let count = 0
  for await (const page of paginateListObjectsV2({ client }, { Bucket: bucket })) count += page.Contents?.length ?? 0
  return count
}

/** Returns the records of a batch. Throws if the object is not a batch. */
export function recordsOf(key: string, text: string): readonly unknown[] {
  try {
    const { payload } = Invocation.parse(JSON.parse(text))
    return Event.parse(typeof payload === 'string' ? JSON.parse(payload) : payload).Records
  } catch (cause) {
    throw new Error(`object ${key} is not a failed batch`, { cause })
  }
}
