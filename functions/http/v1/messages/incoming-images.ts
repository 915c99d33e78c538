import type { Context } from 'hono'
import { definedFields } from '../../../domain/defined-fields.ts'
import type { IncomingPart } from '../../../agent/service/agent-service.ts'
import { ImageUnavailable, tooLarge } from '../../../ports/image-source.ts'
import type { OpenImage } from '../../../ports/image-source.ts'
import type { AppEnv, RouteDependencies } from '../../dependencies.ts'
import { createByteBudget } from '../../middleware/byte-budget.ts'
import type { ByteBudget } from '../../middleware/byte-budget.ts'
import { RequestError } from '../../middleware/request-error.ts'
import type { InvalidField } from '../../middleware/request-error.ts'

/** Limit of one image, in bytes. */
const MAX_IMAGE_BYTES = 20_000_000
/** Limits of the images of one request: their number, and their bytes. */
const MAX_IMAGES = 16
const MAX_REQUEST_BYTES = 60_000_000
/** Limits of the bytes of images that are held until they are stored, for all tenants together and for one tenant. */
const MAX_BYTES = 192_000_000
const MAX_BYTES_OF_TENANT = 64_000_000
/**
 * Maximum time that a request waits for image budget. It is shorter than the time limit of an image, because the
 * servers of the images wait during this time too.
 */
const BUDGET_TIMEOUT_MS = 5_000

/** An image that a request names by its address. */
export interface ImageAddress {
  readonly type: 'image'
  readonly url: string
  readonly filename?: string
}

/** Part of a request: content with its bytes, or the address of an image. */
export type RequestPart = IncomingPart | ImageAddress

/** A list of parts with its path in the request. `field`: name of the field with each part's bytes, by index. */
export interface PlacedParts {
  readonly path: string
  readonly field: string | ((index: number) => string)
  /** Name of the field with an image's address, if it is not `field`. */
  readonly addressField?: string
  readonly parts: readonly RequestPart[]
}

type ImageDependencies = Pick<RouteDependencies, 'images' | 'imageBudget'>

/** The tenant whose request contains the images, and the signal that aborts when the client disconnects. */
export interface ImageCaller {
  readonly tenant: string
  readonly signal: AbortSignal
}

/** Returns the tenant and the signal of this request. */
export const imageCallerOf = (c: Context<AppEnv>): ImageCaller => ({
  tenant: c.get('caller').tenant,
  signal: c.get('request').signal,
})

interface Fetching extends ImageAddress {
  readonly path: string
}

/** Creates the budget of the images of this process. */
export const createImageBudget = (): ByteBudget =>
  createByteBudget({
    most: MAX_BYTES,
    mostOfTenant: MAX_BYTES_OF_TENANT,
    timeoutMs: BUDGET_TIMEOUT_MS,
    refusal() {
      const detail = 'the server is fetching too many large images: retry in 5 s'
      return new RequestError(503, 'busy', detail, { headers: { 'retry-after': '5' } })
    },
  })

/** Whether a facade must fetch an image from this address. True for a URL with another scheme than `data:`. */
export const isImageAddress = (url: string): boolean => /^[a-z][a-z0-9+.-]*:/i.test(url) && !/^data:/i.test(url)

const nameOf = (field: PlacedParts['field'], index: number): string =>
  typeof field === 'string' ? field : field(index)

const isByAddress = (part: RequestPart): part is ImageAddress => 'url' in part

/**
 * Calls `accept` with the parts of a request, after its images were checked and those given by address were fetched.
 * Rejects with 422 and the path of each image that has a wrong type or cannot be fetched. The bytes count against the
 * image budget until `accept` ends. So `accept` must store them and keep no reference.
 */
export async function withImages<Accepted>(
  dependencies: ImageDependencies,
  caller: ImageCaller,
  content: readonly PlacedParts[],
  accept: (content: (readonly IncomingPart[])[]) => Promise<Accepted>,
): Promise<Accepted> {
  await refuseFalseImages(content)
  const wanted = content.flatMap(({ path, field, addressField = field, parts }) =>
    parts.flatMap((part, index) =>
      isByAddress(part) ? [{ ...part, path: `${path}[${index}].${nameOf(addressField, index)}` }] : [],
    ),
  )
  return withFetched(dependencies, caller, wanted, (fetched) => {
    const left = [...fetched]
    return accept(content.map(({ parts }) => parts.flatMap((part) => (isByAddress(part) ? left.splice(0, 1) : [part]))))
  })
}

/** Calls `accept` with the fetched images, in order. Drops the images afterwards and releases their budget. */
async function withFetched<Accepted>(
  { images, imageBudget }: ImageDependencies,
  { tenant, signal }: ImageCaller,
  wanted: readonly Fetching[],
  accept: (fetched: readonly IncomingPart[]) => Promise<Accepted>,
): Promise<Accepted> {
  if (wanted.length === 0) return accept([])
  refuseTooMany(wanted)
  const open: OpenImage[] = []
  let release: (() => void) | undefined
  try {
    const opened = await fromAll(wanted, async ({ url }) => {
      const image = await images.open(url, signal)
      open.push(image)
      return image
    })
    const limits = limitsOf(wanted, opened)
    const bytes = limits.reduce((sum, limit) => sum + limit, 0)
    release = await imageBudget.take(tenant, bytes)
    const fetched = await fromAll(wanted, async (image, index) =>
      imageOf(image, (await opened[index]?.read(limits[index] ?? 0)) ?? Buffer.alloc(0)),
    )
    return await accept(fetched)
  } finally {
    for (const image of open) image.close()
    release?.()
  }
}

function refuseTooMany(wanted: readonly Fetching[]): void {
  const over = wanted[MAX_IMAGES]
  if (over === undefined) return
  throw unusable('invalid_media', [
    { path: over.path, message: `is one image too many: a request may name ${MAX_IMAGES} by their address` },
  ])
}

/** Returns the limit of each image's bytes. Images whose server declares no size share the remaining bytes equally. */
function limitsOf(wanted: readonly Fetching[], opened: readonly OpenImage[]): number[] {
  const large = wanted.filter((_, index) => (opened[index]?.bytes ?? 0) > MAX_IMAGE_BYTES)
  if (large.length > 0)
    throw unusable(
      'image_not_fetched',
      large.map(({ path }) => ({ path, message: tooLarge(MAX_IMAGE_BYTES) })),
    )
  const declared = opened.reduce((sum, { bytes = 0 }) => sum + bytes, 0)
  const undeclared = opened.filter(({ bytes }) => bytes === undefined).length
  const left = MAX_REQUEST_BYTES - declared
  if (left < 0) {
    const message = `exceeds the limit of ${MAX_REQUEST_BYTES / 1_000_000} MB for all images of a request`
    throw unusable(
      'image_not_fetched',
      wanted.slice(-1).map(({ path }) => ({ path, message })),
    )
  }
  return opened.map(({ bytes }) => bytes ?? Math.min(MAX_IMAGE_BYTES, Math.floor(left / undeclared)))
}

/** Calls `work` for all images concurrently. Rejects with the paths of the images that are unavailable. */
async function fromAll<Result>(
  wanted: readonly Fetching[],
  work: (image: Fetching, index: number) => Promise<Result>,
): Promise<Result[]> {
  const all = await Promise.allSettled(wanted.map(work))
  const errors: InvalidField[] = []
  const results: Result[] = []
  for (const [index, one] of all.entries()) {
    if (one.status === 'fulfilled') results.push(one.value)
    else if (one.reason instanceof ImageUnavailable)
      errors.push({ path: wanted[index]?.path ?? '', message: one.reason.message })
    else throw one.reason
  }
  if (errors.length > 0) throw unusable('image_not_fetched', errors)
  return results
}

/** The image with the type of its first bytes, whatever its server declares. */
async function imageOf({ path, filename }: Fetching, data: Uint8Array): Promise<IncomingPart> {
  const { fileTypeFromBuffer } = await import('file-type')
  const found = (await fileTypeFromBuffer(data))?.mime
  if (found?.startsWith('image/') === true)
    return { type: 'image', mediaType: found, data, ...definedFields({ filename }) }
  throw unusable('invalid_media', [{ path, message: otherType(found) }])
}

/** Rejects images whose first bytes do not match the declared type. */
async function refuseFalseImages(content: readonly PlacedParts[]): Promise<void> {
  const errors: InvalidField[] = []
  for (const { path, field, parts } of content)
    for (const [index, part] of parts.entries()) {
      if (part.type !== 'image' || isByAddress(part)) continue
      const { fileTypeFromBuffer } = await import('file-type')
      const message = imageFault(part.mediaType, (await fileTypeFromBuffer(part.data))?.mime)
      if (message !== undefined) errors.push({ path: `${path}[${index}].${nameOf(field, index)}`, message })
    }
  if (errors.length > 0) throw unusable('invalid_media', errors)
}

/**
 * For each alias or related media type, the type that replaces it in comparisons. Comparisons ignore a prefix `x-` and
 * a suffix `-sequence`.
 */
const SAME_TYPES: ReadonlyMap<string, string> = new Map([
  ['image/jpg', 'image/jpeg'],
  ['image/apng', 'image/png'],
  ['image/ms-bmp', 'image/bmp'],
  ['image/vnd.microsoft.icon', 'image/icon'],
  ['image/tif', 'image/tiff'],
  ['image/heif', 'image/heic'],
])

function sameType(mediaType: string): string {
  const plain = mediaType.replace('/x-', '/').replace(/-sequence$/, '')
  return SAME_TYPES.get(plain) ?? plain
}

/**
 * Why bytes are not an image of the declared type; undefined if they are. `found`: the type detected from their first
 * bytes.
 */
function imageFault(declared: string, found: string | undefined): string | undefined {
  if (found?.startsWith('image/') !== true) return otherType(found)
  return sameType(declared) === sameType(found) ? undefined : `is no ${declared}: its first bytes are those of ${found}`
}

const otherType = (found: string | undefined): string =>
  `is no image: its first bytes are ${found === undefined ? 'of no known type' : `those of ${found}`}`

function unusable(code: 'invalid_media' | 'image_not_fetched', errors: readonly InvalidField[]): RequestError {
  const [first] = errors
  return new RequestError(422, code, `${first?.path} ${first?.message}`, { errors })
}
