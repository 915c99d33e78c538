import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Webhook } from 'standardwebhooks'

/** The secret in the receivers' format: `whsec_` and base64. */
export const SECRET = `whsec_${Buffer.from('a secret of thirty-two characters').toString('base64')}`

export interface Received {
  readonly id: string
  readonly type: string
  readonly body: string
  readonly headers: Record<string, string>
}

export interface Receiver {
  readonly url: string
  readonly host: string
  /** Every accepted request, in order. Each signature was checked with the package that receivers use. */
  readonly requests: Received[]
  /** Response to the next requests. Undefined: no response. */
  respond: (request: Received) => { status: number; headers?: Record<string, string> } | undefined
  close(): Promise<void>
}

/** Opens a receiver of callbacks over real HTTP. */
export async function openReceiver(): Promise<Receiver> {
  const requests: Received[] = []
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const body = Buffer.concat(chunks).toString()
      const headers = request.headers as Record<string, string>
      const { 'webhook-id': id = '', 'webhook-timestamp': seconds, 'webhook-signature': signature } = headers
      // The package's `verify` checks the timestamp against real time, but the tests move the clock.
      const isSigned = new Webhook(SECRET).sign(id, new Date(Number(seconds) * 1_000), body) === signature
      if (!isSigned) return void response.writeHead(401).end()
      const { type } = JSON.parse(body) as { type: string }
      const received = { id, type, body, headers }
      requests.push(received)
      const answer = receiver.respond(received)
      if (answer === undefined) return void request.socket.destroy()
      response.writeHead(answer.status, answer.headers).end('thanks')
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const receiver: Receiver = {
    url: `http://127.0.0.1:${port}/hook`,
    host: `127.0.0.1:${port}`,
    requests,
    respond: () => ({ status: 204 }),
    async close() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
  return receiver
}
