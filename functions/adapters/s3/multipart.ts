import {
  AbortMultipartUploadCommand,
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  UploadPartCommand,
} from '@aws-sdk/client-s3'
import type { CompletedPart, S3Client } from '@aws-sdk/client-s3'
import { sha256 } from '../../domain/hash.ts'

/** Size of a part, in bytes. Larger objects are sent in parts. */
export const PART_BYTES = 8 * 1024 * 1024
const PARTS_AT_ONCE = 4

/** The name and properties of an object to create. */
export interface Target {
  readonly Bucket: string
  readonly Key: string
  readonly ContentType: string
}

/** Creates a large object in parts, unless it exists. After a failure, the sent parts are removed. */
export async function putInParts(client: S3Client, target: Target, bytes: Uint8Array): Promise<void> {
  const { Bucket, Key } = target
  const { UploadId } = await client.send(new CreateMultipartUploadCommand({ ...target, ChecksumAlgorithm: 'SHA256' }))
  if (UploadId === undefined) throw new Error('the store did not begin an upload')
  const upload = { Bucket, Key, UploadId }
  try {
    const Parts = await sendParts(client, upload, bytes)
    await client.send(new CompleteMultipartUploadCommand({ ...upload, IfNoneMatch: '*', MultipartUpload: { Parts } }))
  } catch (error) {
    try {
      await client.send(new AbortMultipartUploadCommand(upload))
    } catch {
      // If this removal fails, the bucket's lifecycle rule removes the parts. Only the first failure is reported.
    }
    throw error
  }
}

async function sendParts(
  client: S3Client,
  upload: { Bucket: string; Key: string; UploadId: string },
  bytes: Uint8Array,
): Promise<CompletedPart[]> {
  const parts: CompletedPart[] = []
  const count = Math.ceil(bytes.byteLength / PART_BYTES)
  let next = 0
  const sendNext = async (): Promise<void> => {
    for (let at = next++; at < count; at = next++) {
      const Body = bytes.subarray(at * PART_BYTES, (at + 1) * PART_BYTES)
      const ChecksumSHA256 = sha256(Body, 'base64')
      const { ETag } = await client.send(new UploadPartCommand({ ...upload, PartNumber: at + 1, Body, ChecksumSHA256 }))
      parts[at] = { PartNumber: at + 1, ETag, ChecksumSHA256 }
    }
  }
  await Promise.all(Array.from({ length: Math.min(PARTS_AT_ONCE, count) }, sendNext))
  return parts
}
