import { loadavg } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import type { AssistantMessage } from '../functions/domain/messages/message.ts'
import { nextId } from '../functions/domain/ids.ts'
import { readSettings } from '../functions/runtime/settings/config.ts'
import { openPorts } from '../functions/runtime/local/open-ports.ts'
import type { OpenPorts } from '../functions/runtime/program.ts'
import { awsBackend } from '../test/e2e/backend/aws-backend.ts'
import { startAwsEngines } from '../test/e2e/backend/aws-engines.ts'
import { printTable, quantile } from './report.ts'

/**
 * Measures the time from a message's durability in DynamoDB until a search on OpenSearch finds it. Writes 20 messages
 * per second through the ports, and polls the stream in this process. The node makes new documents visible once per
 * second, which alone causes half a second at p50. A serverless collection does so about every ten seconds.
 */
const { values } = parseArgs({ options: { seconds: { type: 'string', default: '60' } } })
const SECONDS = Number(values.seconds)
/** Number of runs that are started per second. Each run writes two messages: an input and a completion. */
const RUNS_PER_SECOND = 10
const MESSAGES_PER_RUN = 2
const POLL_INTERVAL_MS = 50
const MAX_WAIT_MS = 60_000
const SESSIONS = 20
const TENANT = 'default'
/** Length of a message id. The field `event` of each document of a message begins with the message's id. */
const ID = 26

const engines = await startAwsEngines('index-lag')
if (engines === undefined) process.exit()
const place = await awsBackend(engines.endpoints).open()
const ports = await openPorts(readSettings({ ...place.env, LOG_LEVEL: 'warn' }))
/** Two times in milliseconds for each message: when it became durable, and when a search first found it. */
const durable = new Map<string, number>()
const found = new Map<string, number>()
try {
  await prepare(ports)
  const done = new AbortController()
  const looking = poll(engines.endpoints.opensearch, done.signal)
  const begun = performance.now()
  await write(ports)
  const seconds = (performance.now() - begun) / 1_000
  for (const deadline = Date.now() + MAX_WAIT_MS; found.size < durable.size && Date.now() < deadline;)
    await sleep(POLL_INTERVAL_MS)
  done.abort()
  await looking
  const lags = [...durable].map(([id, at]) => (found.get(id) ?? Number.POSITIVE_INFINITY) - at)
  printTable(
    `From durable to findable, ${durable.size} messages at ${(durable.size / seconds).toFixed(1)} a second, milliseconds`,
    ['p50', 'p90', 'p99', 'most', 'never found', 'load average'],
    [
      [
        ...[0.5, 0.9, 0.99, 1].map((share) => Math.round(quantile(lags, share))),
        durable.size - found.size,
        loadavg()[0] ?? 0,
      ],
    ],
  )
} finally {
  await ports.close()
  await place.remove()
  await engines.stop()
}

async function prepare({ sessions, index }: OpenPorts): Promise<void> {
  for (let number = 0; number < SESSIONS; number++)
    await sessions.create({ tenant: TENANT, session: `lag-${number}`, agent: 'default', metadata: {} })
  await index.search({ scope: { tenant: TENANT }, text: 'anything', filters: {}, limit: 1 })
}

/** Starts ten runs per second, each in the next session. Skips sessions whose run has not ended. */
async function write(to: OpenPorts): Promise<void> {
  const busy = new Map<string, Promise<void>>()
  const end = Date.now() + SECONDS * 1_000
  for (let number = 0; Date.now() < end; number++) {
    const next = Date.now() + 1_000 / RUNS_PER_SECOND
    const session = Array.from({ length: SESSIONS }, (_, place) => `lag-${(number + place) % SESSIONS}`).find(
      (name) => !busy.has(name),
    )
    if (session !== undefined)
      busy.set(
        session,
        oneRun(to, session, number).finally(() => busy.delete(session)),
      )
    await sleep(Math.max(0, next - Date.now()))
  }
  await Promise.all(busy.values())
}

async function oneRun({ inbox, log, clock }: OpenPorts, session: string, number: number): Promise<void> {
  const text = `message ${number} tells what happened to crate c-${number}`
  const { started } = await inbox.enqueue(
    { tenant: TENANT, session },
    {
      ...{ agent: 'default', trigger: 'input', onBusy: 'queue', clientTools: [], startAs: crypto.randomUUID() },
      input: { parts: [{ type: 'text', text }] },
    },
  )
  if (started?.message === undefined) throw new Error(`${session} is not idle`)
  durable.set(started.message.id, performance.now())
  const { lease } = started
  const createdAt = clock.now()
  const id = nextId(lease.head, createdAt)
  const message: AssistantMessage = {
    id,
    role: 'assistant',
    runId: lease.runId,
    agent: 'default',
    round: 0,
    createdAt,
    parts: [{ type: 'text', text: `answer: ${text}` }],
    toolCalls: [],
    finishReason: 'stop',
  }
  await log.endRun(lease, { outcome: 'completed', stopReason: 'answer', message })
  durable.set(id, performance.now())
}

/** Polls the latest documents, and records the time at which each new one was found. */
async function poll(endpoint: string, signal: AbortSignal): Promise<void> {
  const url = `${endpoint}/${place.env['TOOLTRAIL_INDEX']}/_search`
  const size = 20 * RUNS_PER_SECOND * MESSAGES_PER_RUN
  const body = JSON.stringify({ size, _source: ['event'], sort: [{ time: 'desc' }] })
  while (!signal.aborted) {
    const response = await fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body })
    const now = performance.now()
    const { hits } = (await response.json()) as { hits: { hits: { _source: { event: string } }[] } }
    for (const { _source: source } of hits.hits) {
      const id = source.event.slice(0, ID)
      if (!found.has(id)) found.set(id, now)
    }
    await sleep(POLL_INTERVAL_MS)
  }
}
