import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { definedFields } from '../functions/domain/defined-fields.ts'
import { isSigned } from '../functions/channels/slack/inbound/signature.ts'
import type { Models } from '../functions/ports/model.ts'
import { readSettings } from '../functions/runtime/settings/config.ts'
import { openPorts } from '../functions/runtime/local/open-ports.ts'
import { startLocal } from '../functions/runtime/local/start.ts'
import { completionOf } from '../test/agent/harness.ts'
import { openReceiver, SECRET } from '../test/channels/callbacks/receiver.ts'
import { directMessage, signedHeaders, SIGNING_SECRET } from '../test/slack-server/slack-events.ts'
import { startSlackServer } from '../test/slack-server/slack-server.ts'
import { printTable, quantile, timed } from './report.ts'

/**
 * Measures how long a person in Slack waits for the first status and for the first text. The model emits its first
 * words at once, so its time does not count.
 *
 * The reference is a bot without a log, in the same run. It checks the signature, answers 200, and makes the same two
 * calls to the same Slack. The two contenders alternate, one event at a time.
 *
 * Also measures the cost that a delivery adds to its run. Three kinds of runs of one program alternate: without a
 * delivery, with a callback to a receiver, and with a callback to a receiver that never responds.
 */
const WARM_UP = 10
/** Slack allows 20 streams a minute to a workspace, so each of these workspaces gets only `EVENTS` events. */
const WORKSPACES = 12
const EVENTS = 15
const RUNS = 150
/** Milliseconds between two runs. In this time, the deliveries of the first run are sent. */
const SETTLE_MS = 60

const folder = mkdtempSync(join(tmpdir(), 'tooltrail-deliveries-'))
const teams = Array.from({ length: WORKSPACES }, (_, number) => `T${number + 1}`)
const slack = await startSlackServer(
  Object.fromEntries(teams.map((team) => [`xoxb-${team}`, { team, user: 'UBOT', bot: 'BBOT' }])),
)
const receiver = await openReceiver()
const silent = createServer(() => undefined).listen(0, '127.0.0.1')
await once(silent, 'listening')
const silentHost = `127.0.0.1:${(silent.address() as AddressInfo).port}`

/**
 * A model that emits its first words at once. If the input asks for it, the model then waits for a moment and
 * continues.
 */
const models: Models = {
  open: async () => ({
    name: 'script/ed',
    async *stream({ messages }) {
      yield { type: 'text.delta', part: 0, text: 'Hello. ' }
      if (JSON.stringify(messages.at(-1)).includes('stream')) await sleep(100)
      yield { type: 'completion', completion: completionOf({ text: 'Hello. I am here.' }) }
    },
  }),
}

const agentsFile = join(folder, 'agents.json')
writeFileSync(
  agentsFile,
  JSON.stringify({
    agents: {},
    slack: { workspaces: Object.fromEntries(teams.map((team) => [team, { token: `\${secret:SLACK_${team}}` }])) },
    callbacks: {
      quick: { url: receiver.url, secret: SECRET },
      silent: { url: `http://${silentHost}/`, secret: SECRET },
    },
  }),
)
const settings = readSettings({
  PORT: '0',
  TOOLTRAIL_DATA: join(folder, 'data'),
  TOOLTRAIL_AGENTS: agentsFile,
  TOOLTRAIL_ALLOWED_HOSTS: [slack.host, receiver.host, silentHost].join(','),
  MODEL: 'demo/demo',
  LOG_LEVEL: 'silent',
  SLACK_API_URL: slack.apiUrl,
  SLACK_SIGNING_SECRET: SIGNING_SECRET,
  ...Object.fromEntries(teams.map((team) => [`SLACK_${team}`, `xoxb-${team}`])),
})
const program = await startLocal(settings, { ports: { ...(await openPorts(settings)), models } })
const bare = await startBareBot()

interface Waits {
  readonly status: number[]
  readonly text: number[]
}
const ours: Waits = { status: [], text: [] }
const theirs: Waits = { status: [], text: [] }
for (let event = 0; event < WORKSPACES * EVENTS; event++) {
  const team = teams[event % WORKSPACES] ?? ''
  for (const [url, waits] of [
    [program.url, ours],
    [bare.url, theirs],
  ] as const) {
    const { status, text } = await waitFor(url, team)
    if (event < WARM_UP) continue
    waits.status.push(status)
    waits.text.push(text)
  }
}

const kinds = [undefined, 'quick', 'silent'] as const
const runs = new Map<(typeof kinds)[number], number[]>(kinds.map((kind) => [kind, []]))
for (let run = 0; run < WARM_UP + RUNS; run++)
  for (const callback of kinds) {
    const took = await timed(() => runOnce(`run-${run}-${callback}`, callback))
    if (run >= WARM_UP) runs.get(callback)?.push(took)
    await sleep(SETTLE_MS)
  }

const shown = (name: string, values: readonly number[], reference: readonly number[]) => [
  name,
  quantile(values, 0.5),
  quantile(values, 0.99),
  (quantile(values, 0.5) / quantile(reference, 0.5)).toFixed(2),
]
const columns = ['', 'p50', 'p99', 'ratio of the p50']
printTable(`Event in → Slack, ${ours.status.length} events, milliseconds, without the model`, columns, [
  shown('first status', ours.status, theirs.status),
  shown('  a bot without a log', theirs.status, theirs.status),
  shown('first text', ours.text, theirs.text),
  shown('  a bot without a log', theirs.text, theirs.text),
])
const none = runs.get(undefined) ?? []
printTable(`A run over HTTP, ${RUNS} of each, milliseconds, without the model`, columns, [
  shown('without a delivery', none, none),
  shown('with a callback', runs.get('quick') ?? [], none),
  shown('with a callback to a receiver that never responds', runs.get('silent') ?? [], none),
])

await program.close()
bare.close()
silent.closeAllConnections()
silent.close()
await Promise.all([slack.close(), receiver.close()])
rmSync(folder, { recursive: true, force: true })
// Exits explicitly, because requests to the silent receiver may still be open.
process.exit(0)

/**
 * Delivers a message and waits for the reply. Returns two times in milliseconds: until the status arrived in Slack, and
 * until the first text did.
 */
async function waitFor(url: string, team: string): Promise<{ status: number; text: number }> {
  const ts = slack.write({ channel: 'D1', user: 'U1', text: 'stream' })
  const [status, text, over] = [
    Promise.withResolvers<number>(),
    Promise.withResolvers<number>(),
    Promise.withResolvers<void>(),
  ]
  slack.after = ({ method, args }) => {
    if (method === 'agents.sessions.setStatus' && args['status'] === 'processing') status.resolve(performance.now())
    if (method === 'agents.sessions.setStatus' && args['status'] === 'active') over.resolve()
    if (method === 'chat.startStream' || method === 'chat.postMessage') text.resolve(performance.now())
  }
  const body = JSON.stringify({ ...directMessage({ ts, text: 'stream' }), team_id: team })
  const begun = performance.now()
  const response = await fetch(`${url}/slack/events`, { method: 'POST', body, headers: signedHeaders(body) })
  if (response.status !== 200) throw new Error(`an event got ${response.status}`)
  const [statusAt, textAt] = await Promise.all([status.promise, text.promise, over.promise])
  return { status: statusAt - begun, text: textAt - begun }
}

/** Starts a bot that stores nothing. It makes the same calls to Slack as our program, in the same order. */
async function startBareBot(): Promise<{ readonly url: string; close(): void }> {
  const server = createServer((request, response) => {
    void (async () => {
      const chunks: Buffer[] = []
      for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk)
      const body = Buffer.concat(chunks)
      if (!isSigned(SIGNING_SECRET, new Headers(request.headers as Record<string, string>), body, Date.now()))
        return void response.writeHead(401).end()
      response.writeHead(200).end()
      const { team_id: team, event } = JSON.parse(body.toString()) as { team_id: string; event: { ts: string } }
      const call = async (method: string, args: object): Promise<{ readonly ts: string }> => {
        const headers = { authorization: `Bearer xoxb-${team}`, 'content-type': 'application/json' }
        const answer = await fetch(slack.apiUrl + method, { method: 'POST', headers, body: JSON.stringify(args) })
        return (await answer.json()) as { readonly ts: string }
      }
      const place = { channel: 'D1', thread_ts: event.ts }
      const session = { channel_id: 'D1', thread_ts: event.ts }
      const processing = call('agents.sessions.setStatus', { ...session, status: 'processing' })
      const pieces = [{ type: 'markdown_text', text: 'Hello. ' }]
      const { ts } = await call('chat.startStream', {
        ...place,
        recipient_user_id: 'U1',
        recipient_team_id: team,
        chunks: pieces,
      })
      await processing
      await call('chat.stopStream', { channel: 'D1', ts })
      await call('agents.sessions.setStatus', { ...session, status: 'active' })
    })()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close() {
      server.closeAllConnections()
      server.close()
    },
  }
}

/** Creates a session, starts a run, and waits for its end. */
async function runOnce(id: string, callback: string | undefined): Promise<void> {
  const send = async (path: string, body: object): Promise<void> => {
    const headers = { 'content-type': 'application/json' }
    const response = await fetch(program.url + path, { method: 'POST', body: JSON.stringify(body), headers })
    if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`)
    await response.arrayBuffer()
  }
  await send('/v1/sessions', { id })
  await send(`/v1/sessions/${id}/messages`, { content: 'hello', ...definedFields({ callback }) })
}
