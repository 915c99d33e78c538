import type { CallToolResult, ContentBlock } from '@modelcontextprotocol/client'
import type { Json } from '../../domain/json.ts'
import type { Source } from '../../domain/messages/source.ts'
import type { IncomingMedia, ToolOutput } from '../../ports/tool.ts'

/** Maximum bytes of one image or file (docs/guides/mcp.md, "Limits"). */
const MAX_MEDIA_BYTES = 20 * 1024 * 1024

/**
 * Converts a server's result: its texts, joined, and its images, sounds and files. Structured content replaces missing
 * text, and may contain sources. If the call failed, throws the text of the result, for the model to read.
 */
export function toolOutput({ content, structuredContent, isError }: CallToolResult): ToolOutput {
  const text = content.flatMap(textOf).join('\n')
  if (isError === true) throw new Error(text === '' ? 'the server says that the call failed' : text)
  const media = content.flatMap(mediaOf)
  const shown = text === '' && structuredContent !== undefined ? JSON.stringify(structuredContent) : text
  const sources = sourcesOf(structuredContent)
  return {
    text: shown,
    ...(media.length === 0 ? {} : { media }),
    ...(sources.length === 0 ? {} : { sources }),
    ...(structuredContent === undefined ? {} : { data: structuredContent as Json }),
  }
}

/** Returns the sources in structured content. The loop drops invalid ones with a warning. */
function sourcesOf(structured: CallToolResult['structuredContent']): readonly Source[] {
  const sources = typeof structured === 'object' && structured !== null && 'sources' in structured && structured.sources
  return Array.isArray(sources) ? (sources as readonly Source[]) : []
}

function textOf(block: ContentBlock): string[] {
  switch (block.type) {
    case 'text':
      return [block.text]
    case 'resource_link':
      return [`${block.title ?? block.name} — ${block.uri}`]
    case 'resource':
      return 'text' in block.resource ? [block.resource.text] : []
    case 'image':
    case 'audio':
      return []
    default:
      block satisfies never
      return []
  }
}

function mediaOf(block: ContentBlock): IncomingMedia[] {
  switch (block.type) {
    case 'image':
      return [{ type: 'image', mediaType: block.mimeType, data: decoded(block.data) }]
    case 'audio':
      return [{ type: 'file', mediaType: block.mimeType, data: decoded(block.data) }]
    case 'resource': {
      const { resource } = block
      if (!('blob' in resource)) return []
      const { mimeType: mediaType = 'application/octet-stream', uri, blob } = resource
      const name = uri.split(/[/\\?#]/).findLast((part) => part !== '')
      const type = mediaType.startsWith('image/') ? 'image' : 'file'
      return [{ type, mediaType, data: decoded(blob), ...(name === undefined ? {} : { filename: name.slice(0, 255) }) }]
    }
    case 'text':
    case 'resource_link':
      return []
    default:
      block satisfies never
      return []
  }
}

function decoded(base64: string): Uint8Array {
  const bytes = Buffer.from(base64, 'base64')
  if (bytes.byteLength <= MAX_MEDIA_BYTES) return bytes
  throw new RangeError(`the server sent a file of ${bytes.byteLength} bytes; the limit is ${MAX_MEDIA_BYTES}`)
}
