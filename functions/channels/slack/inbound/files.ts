import { jsonText } from '../../../log/json/well-formed.ts'
import { cutBefore } from '../../../domain/session-title.ts'
import type { IncomingPart } from '../../../agent/service/agent-service.ts'
import type { SlackFile } from './event.ts'
import type { SlackDownloads } from '../api/file-transfer.ts'

/** Limit of one file from a channel. */
const MAX_FILE_BYTES = 20_000_000
/** Limit of all files of one message. More would not fit into a model's request. */
const MAX_MESSAGE_BYTES = 40_000_000
const DOWNLOAD_MS = 20_000

/**
 * Reads the files of a message, in order. Each file that could not be read is replaced by a line of text that gives the
 * reason.
 */
export async function readFiles(
  downloads: SlackDownloads,
  token: string,
  files: readonly SlackFile[],
  signal: AbortSignal,
): Promise<IncomingPart[]> {
  const parts: IncomingPart[] = []
  let left = MAX_MESSAGE_BYTES
  for (const file of files) {
    const part = await readFile(downloads, token, file, Math.min(MAX_FILE_BYTES, left), signal)
    signal.throwIfAborted()
    if (part.type !== 'text') left -= part.data.length
    parts.push(part)
  }
  return parts
}

async function readFile(
  downloads: SlackDownloads,
  token: string,
  { name, mediaType, url, bytes = 0 }: SlackFile,
  most: number,
  signal: AbortSignal,
): Promise<IncomingPart> {
  if (url === undefined) return note(name, 'Slack has no bytes of it')
  if (bytes > most) return note(name, `it has more than ${most / 1_000_000} MB`)
  try {
    const response = await downloads.download(url, token, { bytes: most, milliseconds: DOWNLOAD_MS }, signal)
    if (response.status !== 200) return note(name, `Slack answered with status ${response.status}`)
    const data = new Uint8Array(await response.arrayBuffer())
    if (isLoginPage(response, mediaType))
      return note(name, 'Slack sent a page in its place: the bot may lack files:read')
    return { type: mediaType.startsWith('image/') ? 'image' : 'file', mediaType, filename: name, data }
  } catch (error) {
    return note(
      name,
      error instanceof RangeError ? `it has more than ${most / 1_000_000} MB` : 'it could not be loaded',
    )
  }
}

/** Whether Slack responded with its login page. Slack sends this page, with status 200, if a token may not read a file. */
const isLoginPage = (response: Response, mediaType: string): boolean =>
  (response.headers.get('content-type') ?? '').startsWith('text/html') && mediaType !== 'text/html'

const note = (name: string, reason: string): IncomingPart => ({
  type: 'text',
  text: `[The file ${jsonText(cutBefore(name, 200))} of this message could not be read: ${reason}.]`,
})
