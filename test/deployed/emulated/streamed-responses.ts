/**
 * This module is preloaded into the emulator's functions. It defines `awslambda`, which Lambda's Node runtime has, but the
 * emulator's runtime lacks. A streamed response becomes one response of the proxy kind.
 */
import { Writable } from 'node:stream'

interface Prelude {
  readonly statusCode: number
  readonly headers: Readonly<Record<string, string>>
  readonly cookies?: readonly string[]
}

class ResponseStream extends Writable {
  prelude: Prelude = { statusCode: 200, headers: {} }
  readonly chunks: Buffer[] = []

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: () => void): void {
    this.chunks.push(chunk)
    done()
  }
}

type Handler = (event: unknown, stream: ResponseStream, context: unknown) => Promise<void>

Object.assign(globalThis, {
  awslambda: {
    streamifyResponse: (handler: Handler) => async (event: unknown, context: unknown) => {
      const stream = new ResponseStream()
      await handler(event, stream, context)
      const { statusCode, headers, cookies = [] } = stream.prelude
      const multiValueHeaders = cookies.length > 0 ? { 'set-cookie': cookies } : {}
      const body = Buffer.concat(stream.chunks).toString('base64')
      return { statusCode, headers, multiValueHeaders, body, isBase64Encoded: true }
    },
    HttpResponseStream: {
      from(stream: ResponseStream, prelude: Prelude): ResponseStream {
        stream.prelude = prelude
        return stream
      },
    },
  },
})
