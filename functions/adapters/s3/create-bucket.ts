import { BucketAlreadyExists, BucketAlreadyOwnedByYou, CreateBucketCommand } from '@aws-sdk/client-s3'
import type { S3Client } from '@aws-sdk/client-s3'

/** Creates the bucket unless it exists. On AWS, the stack creates it. */
export async function createBucketIfAbsent(client: S3Client, bucket: string): Promise<void> {
  try {
    await client.send(new CreateBucketCommand({ Bucket: bucket }))
  } catch (error) {
    if (!(error instanceof BucketAlreadyOwnedByYou) && !(error instanceof BucketAlreadyExists)) throw error
  }
}
