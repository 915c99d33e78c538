import { DeleteObjectCommand, GetObjectCommand, paginateListObjectsV2, PutObjectCommand } from '@aws-sdk/client-s3'
import type { _Object, S3Client } from '@aws-sdk/client-s3'
import { recordsOf } from './failed-batches.ts'

export interface Stripping {
  /** Whether records about this subject must be changed. */
  readonly concerns: (subject: string) => Promise<boolean>
  /** Returns the changed record; undefined to drop it. */
  readonly strip: (record: unknown) => Promise<unknown>
  /**
   * If set, only batches that failed at this time or later are processed. In milliseconds since 1970.
   * @default - all
   */
  readonly since?: number
  /**
   * Called before each batch is read. Once it returns true, the remaining batches are left for the next call.
   * @default - reads all batches
   */
  readonly isOver?: () => boolean
}

interface Bucket {
  readonly client: S3Client
  readonly bucket: string
  /** Returns the subject of a record; undefined if the record is never changed. */
  readonly subjectOf: (record: unknown) => string | undefined
}

/** Number of batches that are read concurrently. Each may have 6 MB, and is in memory twice: as text and as objects. */
const READ_AT_ONCE = 4
/** Maximum number of batches whose subjects are remembered. Each has at most a hundred subjects. */
const MAX_REMEMBERED_BATCHES = 5_000

/**
 * Returns a function that replaces records in the batches that Lambda gave up on. `strip` returns each replacement. If
 * no record of a batch remains, the batch is deleted. The bucket contains message content, which must not outlive its
 * session. A batch is read once to find its subjects, and again only if it must change. A repeated call resumes where
 * the previous one stopped, and costs little. Resolves to true if all batches were processed. Rejects at an object that
 * is not a batch.
 */
export function createBatchStripper({ client, bucket, subjectOf }: Bucket): (stripping: Stripping) => Promise<boolean> {
  let subjects = new Map<string, ReadonlySet<string>>()

  async function read(key: string): Promise<{ readonly text: string; readonly records: readonly unknown[] }> {
    const { Body: body } = await client.send(new GetObjectCommand({ Bucket: bucket, Key: key }))
    const text = (await body?.transformToString()) ?? ''
    return { text, records: recordsOf(key, text) }
  }

  async function stripOne(
    { Key: key = '', ETag: version = '' }: _Object,
    { concerns, strip }: Stripping,
  ): Promise<void> {
    const name = `${version} ${key}`
    const known = subjects.get(name)
    if (known !== undefined && !(await someOf(known, concerns))) return
    const { text, records } = await read(key)
    const about = known ?? new Set(records.flatMap((record) => subjectOf(record) ?? []))
    if (subjects.size < MAX_REMEMBERED_BATCHES) subjects.set(name, about)
    if (known === undefined && !(await someOf(about, concerns))) return
    const stripped = await Promise.all(records.map(strip))
    if (stripped.every((record, place) => record === records[place])) return
    const left = stripped.filter((record) => record !== undefined)
    const invocation = { ...(JSON.parse(text) as object), payload: JSON.stringify({ Records: left }) }
    const place = { Bucket: bucket, Key: key }
    if (left.length === 0) await client.send(new DeleteObjectCommand(place))
    else await client.send(new PutObjectCommand({ ...place, Body: JSON.stringify(invocation) }))
  }

  return async (stripping) => {
    const { since = 0, isOver = () => false } = stripping
    const there = new Set<string>()
    for await (const { Contents: listed = [] } of paginateListObjectsV2({ client }, { Bucket: bucket })) {
      for (const { Key: key = '', ETag: version = '' } of listed) there.add(`${version} ${key}`)
      const wanted = listed.filter(({ LastModified: put }) => (put?.getTime() ?? Infinity) >= since).values()
      const reader = async (): Promise<void> => {
        for (const batch of wanted) {
          if (isOver()) return
          await stripOne(batch, stripping)
        }
      }
      await Promise.all(Array.from({ length: READ_AT_ONCE }, reader))
      if (isOver()) return false
    }
    subjects = new Map([...subjects].filter(([name]) => there.has(name)))
    return true
  }
}

async function someOf(subjects: ReadonlySet<string>, concerns: Stripping['concerns']): Promise<boolean> {
  return (await Promise.all([...subjects].map(concerns))).includes(true)
}
