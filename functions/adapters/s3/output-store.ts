import {
  DeleteObjectCommand,
  DeleteObjectsCommand,
  GetObjectCommand,
  HeadObjectCommand,
  ListObjectsV2Command,
  PutObjectCommand,
  S3ServiceException,
} from '@aws-sdk/client-s3'
import type { S3Client } from '@aws-sdk/client-s3'
import { getSignedUrl } from '@aws-sdk/s3-request-presigner'
import { sha256 } from '../../domain/hash.ts'
import { definedFields } from '../../domain/defined-fields.ts'
import { TooltrailError } from '../../domain/errors.ts'
import { isObjectName } from '../../domain/ids.ts'
import type { SessionKey } from '../../domain/session.ts'
import { LINK_SECONDS } from '../../ports/output-store.ts'
import type { ByteRange, OutputStore } from '../../ports/output-store.ts'
import { PART_BYTES, putInParts } from './multipart.ts'
import type { Target } from './multipart.ts'

export interface S3Dependencies {
  /** A client with timeouts, so that a store that does not respond counts as failed. */
  readonly client: S3Client
  readonly bucket: string
}

const CONFLICT_ATTEMPTS = 3

/**
 * Creates a store that keeps outputs as objects. The names of a session's objects begin with a hash of tenant and
 * session, not with their ids. An object is created only if its name is free. S3 checks the object's SHA-256.
 */
export function createS3OutputStore({ client, bucket }: S3Dependencies): OutputStore {
  return {
    put: (key, name, bytes, mediaType) =>
      storing(`put ${name}`, async () => {
        if (!isObjectName(name)) throw new RangeError(`${JSON.stringify(name)} is not an object name`)
        const target = { Bucket: bucket, Key: prefixOf(key) + name, ContentType: mediaType }
        if (await created(client, target, bytes)) return
        const there = await readObject(client, bucket, target.Key)
        if (there === undefined || Buffer.compare(there, bytes) !== 0)
          throw new RangeError('the name is taken by other bytes')
      }),
    async read(key, name, range) {
      const bytes = isObjectName(name)
        ? await storing(`read ${name}`, () => readObject(client, bucket, prefixOf(key) + name, range))
        : undefined
      if (bytes === undefined) throw new TooltrailError('output_not_found', `session ${key.session} has no such output`)
      return bytes
    },
    async stat(key, name) {
      if (!isObjectName(name)) return undefined
      return storing(`stat ${name}`, () => statObject(client, bucket, prefixOf(key) + name))
    },
    async link(key, name, disposition) {
      if (!isObjectName(name)) return undefined
      return storing(`link ${name}`, () => linkTo(client, bucket, prefixOf(key) + name, disposition))
    },
    async remove(key, name) {
      if (!isObjectName(name)) return
      const command = new DeleteObjectCommand({ Bucket: bucket, Key: prefixOf(key) + name })
      await storing(`remove ${name}`, () => client.send(command))
    },
    removeAll: (key) =>
      storing(`remove the outputs of ${key.session}`, () => removePrefix(client, bucket, prefixOf(key))),
  }
}

const prefixOf = ({ tenant, session }: SessionKey): string => `${sha256(`${tenant}\0${session}`)}/`

const conditionalBody = (bytes: Uint8Array) => ({
  Body: bytes,
  IfNoneMatch: '*',
  ChecksumSHA256: sha256(bytes, 'base64'),
})

/** Creates an object. Returns false if the name exists. */
async function created(client: S3Client, target: Target, bytes: Uint8Array): Promise<boolean> {
  for (let attempt = 1; ; attempt++) {
    try {
      if (bytes.byteLength > PART_BYTES) await putInParts(client, target, bytes)
      else await client.send(new PutObjectCommand({ ...target, ...conditionalBody(bytes) }))
      return true
    } catch (error) {
      if (isStatus(error, 412)) return false
      // Another writer is creating an object with this name, and S3 requests a retry.
      if (!isStatus(error, 409) || attempt >= CONFLICT_ATTEMPTS) throw error
    }
  }
}

const isStatus = (error: unknown, status: number): boolean =>
  error instanceof S3ServiceException && error.$metadata.httpStatusCode === status

async function readObject(
  client: S3Client,
  bucket: string,
  key: string,
  range?: ByteRange,
): Promise<Uint8Array | undefined> {
  const part = range === undefined ? {} : { Range: `bytes=${range.start}-${range.end}` }
  try {
    const { Body } = await client.send(new GetObjectCommand({ Bucket: bucket, Key: key, ...part }))
    return Body === undefined ? new Uint8Array() : await Body.transformToByteArray()
  } catch (error) {
    if (isStatus(error, 404)) return undefined
    // The requested range begins at or after the end of the object.
    if (isStatus(error, 416)) return new Uint8Array()
    throw error
  }
}

async function statObject(
  client: S3Client,
  bucket: string,
  key: string,
): Promise<{ bytes: number; mediaType: string } | undefined> {
  try {
    const found = await client.send(new HeadObjectCommand({ Bucket: bucket, Key: key }))
    return { bytes: found.ContentLength ?? 0, mediaType: found.ContentType ?? 'application/octet-stream' }
  } catch (error) {
    if (isStatus(error, 404)) return undefined
    throw error
  }
}

/** Creates a signed link without a request to S3. The link does not show whether the object exists. */
function linkTo(client: S3Client, bucket: string, key: string, disposition: string): Promise<string> {
  const overrides = { ResponseContentDisposition: disposition, ResponseCacheControl: 'private, no-store' }
  const command = new GetObjectCommand({ Bucket: bucket, Key: key, ...overrides })
  return getSignedUrl(client, command, { expiresIn: LINK_SECONDS })
}

/**
 * Deletes all objects with the prefix. The prefix ends in a slash, so it cannot be the beginning of another session's
 * prefix.
 */
async function removePrefix(client: S3Client, bucket: string, prefix: string): Promise<number> {
  let removed = 0
  let next: string | undefined
  do {
    const page = await client.send(
      new ListObjectsV2Command({
        Bucket: bucket,
        Prefix: prefix,
        ...definedFields({ ContinuationToken: next }),
      }),
    )
    const objects = (page.Contents ?? []).flatMap(({ Key }) => (Key === undefined ? [] : [{ Key }]))
    if (objects.length > 0) {
      const { Errors = [] } = await client.send(
        new DeleteObjectsCommand({ Bucket: bucket, Delete: { Objects: objects, Quiet: true } }),
      )
      if (Errors[0] !== undefined)
        throw new Error(`${Errors.length} objects were not removed: ${Errors[0].Message ?? Errors[0].Code}`)
    }
    removed += objects.length
    next = page.NextContinuationToken
  } while (next !== undefined)
  return removed
}

async function storing<Result>(action: string, work: () => Promise<Result>): Promise<Result> {
  try {
    return await work()
  } catch (error) {
    const reason = error instanceof S3ServiceException ? `${error.name}: ${error.message}` : String(error)
    throw new TooltrailError('storage_failed', `could not ${action}: ${reason}`, {
      retryable: isPassing(error),
      cause: error,
    })
  }
}

/**
 * Whether a retry may help: S3 was busy or did not respond, or another writer uses the same name. A request that cannot
 * be sent fails permanently.
 */
function isPassing(error: unknown): boolean {
  if (error instanceof S3ServiceException) {
    const status = error.$metadata.httpStatusCode ?? 500
    return status >= 500 || status === 409 || status === 429 || error.name === 'RequestTimeout'
  }
  const isForGood = error instanceof TypeError || error instanceof RangeError
  return error instanceof Error && !isForGood && error.name !== 'CredentialsProviderError'
}
