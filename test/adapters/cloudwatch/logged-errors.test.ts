import { CloudWatchLogsClient } from '@aws-sdk/client-cloudwatch-logs'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { afterEach, expect, test } from 'vitest'
import { newestErrors } from '../../../functions/adapters/cloudwatch/logged-errors.ts'

const MINUTE = 60_000
const NOW = 1_800_000_000_000
const PAGE = 100

let server: Server | undefined
let client: CloudWatchLogsClient | undefined
afterEach(() => {
  client?.destroy()
  server?.closeAllConnections()
  server?.close()
})

interface Query {
  readonly logGroupName: string
  readonly startTime: number
  readonly endTime: number
  readonly nextToken?: string
}

/**
 * Starts a CloudWatch Logs server at wire level. The server returns pages of events, oldest first. Returns the list to which
 * the server adds each query.
 */
async function startLogs(groups: Readonly<Record<string, readonly number[]>>): Promise<Query[]> {
  const asked: Query[] = []
  server = createServer((request, response) => {
    void text(request).then((body) => {
      const query = JSON.parse(body) as Query
      asked.push(query)
      const { logGroupName, startTime, endTime, nextToken = '0' } = query
      const times = groups[logGroupName]
      if (times === undefined) return response.writeHead(400).end('{"__type": "ResourceNotFoundException"}')
      const within = times.filter((at) => at >= startTime && at <= endTime).toSorted((left, right) => left - right)
      const events = within.slice(Number(nextToken), Number(nextToken) + PAGE)
      const end = Number(nextToken) + PAGE
      const rest = end < within.length ? { nextToken: String(end) } : {}
      const reported = events.map((timestamp) => ({ timestamp, message: `ERROR at ${timestamp}\n` }))
      return response.writeHead(200).end(JSON.stringify({ events: reported, ...rest }))
    })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  client = new CloudWatchLogsClient({
    endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    region: 'us-east-1',
    credentials: { accessKeyId: 'local', secretAccessKey: 'local' },
  })
  return asked
}

async function newest(groups: readonly string[], limit = 5): Promise<number[]> {
  if (client === undefined) throw new Error('start the logs first')
  const found = await newestErrors(client, groups, { since: NOW - 60 * MINUTE, now: NOW, limit })
  return found.map(({ at }) => at)
}

test('errors of all log groups are listed newest first, and a missing log group has no errors', async () => {
  await startLogs({ a: [NOW - 3 * MINUTE, NOW - 40 * MINUTE], b: [NOW - 10, NOW - 59 * MINUTE] })
  expect(await newest(['a', 'b', 'none'], 3)).toEqual([NOW - 10, NOW - 3 * MINUTE, NOW - 40 * MINUTE])
})

test('each error is reported once, even if it lies at the edge of a time window', async () => {
  const edges = [0, 1, 5, 15, 60].flatMap((minutes) => [NOW - minutes * MINUTE, NOW - minutes * MINUTE - 1])
  await startLogs({ a: edges })
  expect(await newest(['a'], 20)).toEqual(edges.filter((at) => at >= NOW - 60 * MINUTE))
})

test('errors before the requested time are not reported', async () => {
  await startLogs({ a: [NOW - 61 * MINUTE] })
  expect(await newest(['a'])).toEqual([])
})

test('if the last minute has enough errors, the rest of the hour is not read', async () => {
  const asked = await startLogs({ a: Array.from({ length: 3_600 }, (_, second) => NOW - second * 1_000) })
  expect(await newest(['a'], 3)).toEqual([NOW, NOW - 1_000, NOW - 2_000])
  expect(asked).toHaveLength(1)
})

test('if a minute has more errors than the limit, only some of them are shown', async () => {
  const asked = await startLogs({ a: Array.from({ length: 5_000 }, (_, at) => NOW - at * 10) })
  const times = await newest(['a'])
  expect(times).toHaveLength(5)
  expect(Math.min(...times)).toBeGreaterThan(NOW - MINUTE)
  expect(asked).toHaveLength(10)
})
