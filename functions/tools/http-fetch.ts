import type { LookupFunction } from 'node:net'
import { z } from 'zod'
import type { Tool } from '../ports/tool.ts'
import { defineTool } from './define-tool.ts'
import { readBody, textOfBody } from './http-fetch-body.ts'
import type { Body } from './http-fetch-body.ts'

const LOOPBACK = ['127.0.0.1', '::1']
const DEFAULT_LIMIT_BYTES = 1_048_576
const DEFAULT_LIMIT_MS = 30_000

export interface HttpFetchSettings {
  /** Whether the model may reach servers on this machine. */
  readonly allowLoopback?: boolean
  /** Resolves names to addresses. @default the machine's own resolver */
  readonly lookup?: LookupFunction
  readonly limitBytes?: number
  readonly limitMs?: number
}

const input = z.strictObject({
  url: z.url({ protocol: /^https?$/ }).describe('An http or https URL on the public internet.'),
  method: z.enum(['GET', 'HEAD']).default('GET'),
})

/**
 * Creates the tool that reads a public web page or API for the model. It never reads internal addresses and never
 * exceeds the limits.
 */
export function createHttpFetchTool(settings: HttpFetchSettings = {}): Tool {
  const { lookup, limitBytes = DEFAULT_LIMIT_BYTES, limitMs = DEFAULT_LIMIT_MS } = settings
  const allowedAddresses = settings.allowLoopback === true ? LOOPBACK : []
  return defineTool({
    name: 'http_fetch',
    description:
      'Fetches a public URL and returns its status, content type and text. Redirects are followed, internal addresses refused.',
    input,
    idempotent: true,
    async execute({ url, method }, context) {
      const tooLong = AbortSignal.timeout(limitMs)
      const signal = AbortSignal.any([context.signal, tooLong])
      try {
        // The address tables of the guard are large, so they are loaded with the first fetch.
        const { guardedRequest } = await import('./http-fetch-request.ts')
        const fetched = await guardedRequest({ url, method, signal, allowedAddresses, ...(lookup && { lookup }) })
        const { statusCode, statusMessage, headers } = fetched.response
        const type = headers['content-type']
        const lines = [`HTTP ${statusCode} ${statusMessage}`.trimEnd()]
        if (fetched.url.href !== url) lines.push(`url: ${fetched.url.href}`)
        if (type !== undefined) lines.push(`content-type: ${type}`)
        const body = await readBody(fetched.response, limitBytes)
        return { text: [...lines, '', ...describe(body, type)].join('\n').trimEnd() }
      } catch (error) {
        context.signal.throwIfAborted()
        if (tooLong.aborted)
          throw new Error(`${url} did not send its whole response within ${limitMs / 1000} s`, { cause: error })
        throw error
      }
    },
  })
}

function describe(body: Body, contentType: string | undefined): string[] {
  const size = `${body.cut ? 'more than ' : ''}${body.bytes.byteLength} bytes`
  const text = textOfBody(body, contentType)
  if (text === undefined) return [`[${size}, not text]`]
  return body.cut ? [text, '', `[cut: the body has ${size}]`] : [text]
}
