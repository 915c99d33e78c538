/* Evidence, limits: If a store's response stalls within its body, the request fails after 10 s and releases its connection. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { GetItemCommand } from '@aws-sdk/client-dynamodb'
import { expect, onTestFinished, test } from 'vitest'
import { openDynamo } from '../../../functions/runtime/aws/clients.ts'

/** Maximum number of a client's connections. */
const ALL = 50

test('a response that stalls in its body fails and releases its connection', async () => {
  let stalls = ALL
  const server = createServer((request, response) => {
    request.resume().on('end', () => {
      response.writeHead(200, { 'content-type': 'application/x-amz-json-1.0', 'content-length': '2' })
      if (stalls-- > 0) response.write('{')
      else response.end('{}')
    })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const client = openDynamo({
    region: 'us-east-1',
    credentials: { accessKeyId: 'a', secretAccessKey: 'b' },
    endpoints: { dynamodb: `http://127.0.0.1:${(server.address() as AddressInfo).port}` },
  })
  onTestFinished(() => {
    client.destroy()
    server.closeAllConnections()
    server.close()
  })
  const ask = () => client.send(new GetItemCommand({ TableName: 't', Key: { pk: { S: 'x' } } }))
  const stalled = await Promise.allSettled(Array.from({ length: ALL }, ask))
  expect(stalled.filter(({ status }) => status === 'fulfilled')).toEqual([])
  expect(await ask()).toMatchObject({ $metadata: { httpStatusCode: 200 } })
})
