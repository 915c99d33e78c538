import type { NewMessage } from '../../functions/client/api-types.ts'
import { ApiProblem } from '../../functions/client/problem.ts'
import { plural } from '../text/words.ts'
import type { Draft } from './drafts.ts'

/** Maximum bytes of all files of an input. Base64 adds a third, and the API accepts 4 MB. */
const MAX_INPUT_BYTES = 2_900_000
const MAX_FILES = 32

export type Content = NonNullable<NewMessage['content']>
type Parts = Exclude<Content, string>

/** Returns the reason why these files cannot be sent together; undefined if they can. */
export function refusalOf(files: readonly File[]): string | undefined {
  if (files.length > MAX_FILES) return `at most ${plural(MAX_FILES, 'file')} at once`
  const empty = files.find(({ size }) => size === 0)
  if (empty !== undefined) return `${empty.name} is empty`
  const bytes = files.reduce((sum, { size }) => sum + size, 0)
  return bytes > MAX_INPUT_BYTES ? `all files together may have ${MAX_INPUT_BYTES / 1_000_000} MB` : undefined
}

/** Converts a text and files to an input of the API. */
export async function contentOf(draft: Draft): Promise<Content> {
  const text = draft.text.trim()
  if (draft.files.length === 0) return text
  const parts: Parts = await Promise.all(
    draft.files.map(async (file) => {
      const upload = {
        media_type: file.type === '' ? 'application/octet-stream' : (file.type.split(';')[0] ?? ''),
        filename: file.name,
        data: base64(new Uint8Array(await file.arrayBuffer())),
      }
      return file.type.startsWith('image/') ? { type: 'image', ...upload } : { type: 'file', ...upload }
    }),
  )
  return text === '' ? parts : [{ type: 'text', text }, ...parts]
}

/** Makes an error about a content readable: replaces paths such as `body.content[1].data` by the names of the files. */
export function namingFiles(error: unknown, content: Content): unknown {
  if (!(error instanceof ApiProblem) || typeof content === 'string') return error
  const named = (text: string): string =>
    text.replaceAll(/\bbody\.content\[(\d+)\](?:\.\w+)*/g, (place, index: string) => {
      const part = content[Number(index)]
      return part === undefined || part.type === 'text' ? place : (part.filename ?? place)
    })
  const { problem, retryAfterMs } = error
  const errors = problem.errors?.map(({ path, message }) => ({ path: named(path), message: named(message) }))
  const detail = named(problem.detail)
  return new ApiProblem({ ...problem, detail, ...(errors === undefined ? {} : { errors }) }, retryAfterMs)
}

/** Encodes in pieces, because a function call cannot have a million arguments. */
function base64(bytes: Uint8Array): string {
  let text = ''
  for (let at = 0; at < bytes.length; at += 0x8000) text += String.fromCharCode(...bytes.subarray(at, at + 0x8000))
  return btoa(text)
}
