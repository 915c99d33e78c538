import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'

export interface SocketServer {
  readonly url: string
  readonly host: string
  /** Connections that were opened so far. */
  opened(): number
  /** Sends a message on the newest connection. */
  send(message: object): void
  /** Sends any text. */
  sendText(text: string): void
  /** Sends a ping on the newest connection. */
  ping(): void
  /** From now on, the server neither responds nor closes connections, including new connections. */
  hang(): void
  /** Messages that the program has sent. */
  readonly received: { readonly envelope_id: string }[]
  close(): Promise<void>
}

/** Starts Slack's side of Socket Mode: a WebSocket server for text messages (RFC 6455). */
export async function startSocketServer(): Promise<SocketServer> {
  const sockets: Socket[] = []
  const received: { readonly envelope_id: string }[] = []
  let hangs = false
  const http = createServer()
  http.on('upgrade', (request, socket: Socket) => {
    sockets.push(socket)
    socket.on('error', () => undefined)
    if (hangs) return
    const key = request.headers['sec-websocket-key'] ?? ''
    const accept = createHash('sha1').update(`${key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest('base64')
    socket.write(
      `HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${accept}\r\n\r\n`,
    )
    let rest: Buffer = Buffer.alloc(0)
    socket.on('data', (chunk: Buffer) => {
      rest = Buffer.concat([rest, chunk])
      for (;;) {
        const frame = readFrame(rest)
        if (frame === undefined) return
        rest = rest.subarray(frame.length)
        if (frame.opcode === 8 && !hangs) socket.end(Buffer.from([0x88, 0]))
        if (frame.opcode === 1) received.push(JSON.parse(frame.text) as { readonly envelope_id: string })
      }
    })
  })
  http.listen(0, '127.0.0.1')
  await once(http, 'listening')
  const host = `127.0.0.1:${(http.address() as AddressInfo).port}`
  return {
    url: `ws://${host}/link`,
    host,
    opened: () => sockets.length,
    send: (message) => void sockets.at(-1)?.write(textFrame(JSON.stringify(message))),
    sendText: (text) => void sockets.at(-1)?.write(textFrame(text)),
    ping: () => void sockets.at(-1)?.write(Buffer.from([0x89, 0])),
    hang: () => void (hangs = true),
    received,
    async close() {
      for (const socket of sockets) socket.destroy()
      http.closeAllConnections()
      http.close()
      await once(http, 'close')
    },
  }
}

/** Builds an unmasked text frame. */
function textFrame(text: string): Buffer {
  const data = Buffer.from(text)
  if (data.length < 126) return Buffer.concat([Buffer.from([0x81, data.length]), data])
  if (data.length < 65_536) return Buffer.concat([Buffer.from([0x81, 126, data.length >> 8, data.length & 255]), data])
  const head = Buffer.from([0x81, 127, 0, 0, 0, 0, 0, 0, 0, 0])
  head.writeBigUInt64BE(BigInt(data.length), 2)
  return Buffer.concat([head, data])
}

/** Parses a client's masked frame. Undefined while the frame is incomplete. */
function readFrame(
  bytes: Buffer,
): { readonly opcode: number; readonly text: string; readonly length: number } | undefined {
  if (bytes.length < 2) return undefined
  const short = (bytes[1] ?? 0) & 127
  const at = short === 126 ? 4 : 2
  if (bytes.length < at + 4) return undefined
  const size = short === 126 ? bytes.readUInt16BE(2) : short
  if (bytes.length < at + 4 + size) return undefined
  const data = bytes.subarray(at + 4, at + 4 + size).map((byte, index) => byte ^ (bytes[at + (index % 4)] ?? 0))
  return { opcode: (bytes[0] ?? 0) & 15, text: Buffer.from(data).toString(), length: at + 4 + size }
}
