import { S3Client } from '@aws-sdk/client-s3'
import { createS3OutputStore } from '../../adapters/s3/output-store.ts'
import type { OutputStore } from '../../ports/output-store.ts'
import { clientOptions } from './clients.ts'
import type { ClientSettings } from './clients.ts'

/**
 * Opens the client of the outputs' bucket. It uses path-style addresses, because engines do not support bucket names in
 * host names.
 */
export const openS3 = (settings: ClientSettings): S3Client =>
  new S3Client({
    ...clientOptions(settings, settings.endpoints.s3),
    forcePathStyle: settings.endpoints.s3 !== undefined,
  })

/** Opens the outputs in this bucket. */
export const openOutputs = (settings: ClientSettings & { readonly bucket: string }): OutputStore =>
  createS3OutputStore({ client: openS3(settings), bucket: settings.bucket })
