import { DeleteObjectCommand, GetObjectCommand, paginateListObjectsV2 } from '@aws-sdk/client-s3'
import type { S3Client } from '@aws-sdk/client-s3'
import { z } from 'zod'

/** A batch of a stream that Lambda gave up on and put into a bucket. */
export interface FailedRecords {
  readonly records: readonly unknown[]
  forget(): Promise<void>
}

/** The fields that are read of what Lambda writes for a failed batch; `payload` is the function's event as text. */
const Invocation = z.object({ payload: z.union([z.string(), z.looseObject({})]) })
const Event = z.object({ Records: z.array(z.unknown()) })

/** The batches in the bucket, in the order of their keys. Rejects at one that cannot be read, naming its key. */
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

/** How many batches the bucket holds. */
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

/** The records of a batch. Throws where the object of this key is none. */
export function recordsOf(key: string, text: string): readonly unknown[] {
  try {
    const { payload } = Invocation.parse(JSON.parse(text))
    return Event.parse(typeof payload === 'string' ? JSON.parse(payload) : payload).Records
  } catch (cause) {
    throw new Error(`object ${key} is not a failed batch`, { cause })
  }
}
