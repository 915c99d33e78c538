import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface Secrets {
  readonly endpoint: string
  stop(): Promise<void>
}

/**
 * Starts a server with Secrets Manager's wire format, for reading only. `valueOf` returns the value for a name or an ARN.
 */
export async function startSecrets(valueOf: (id: string) => string | undefined): Promise<Secrets> {
  const server = createServer((request, response) => {
    const respond = async (): Promise<void> => {
      const chunks: Buffer[] = []
      for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk)
      const { SecretId } = JSON.parse(Buffer.concat(chunks).toString()) as { SecretId: string }
      const SecretString =
        request.headers['x-amz-target'] === 'secretsmanager.GetSecretValue' ? valueOf(SecretId) : undefined
      const body =
        SecretString === undefined
          ? { __type: 'ResourceNotFoundException', Message: "Secrets Manager can't find the specified secret." }
          : { ARN: SecretId, Name: SecretId, VersionId: '1', SecretString, VersionStages: ['AWSCURRENT'] }
      response.writeHead(SecretString === undefined ? 400 : 200, { 'content-type': 'application/x-amz-json-1.1' })
      response.end(JSON.stringify(body))
    }
    respond().catch(() => response.destroy())
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async stop() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}
