/* Evidence, clients: An agent uses the official MCP reference server, even after the server was restarted. */
import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import { resolve } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createMcpToolRegistry } from '../../functions/adapters/mcp/tool-registry.ts'
import { textOf } from '../../functions/domain/messages/message.ts'
import { connector, serverAt } from '../adapters/mcp/servers.ts'
import { openHarness } from '../agent/harness.ts'
import type { Turn } from '../agent/harness.ts'

/** The official reference server, from npm, over streamable HTTP, with sessions of the protocol. */
const PROGRAM = resolve(import.meta.dirname, '../../node_modules/@modelcontextprotocol/server-everything/dist/index.js')

let server: ChildProcess
let host: string

async function freePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1')
  await once(probe, 'listening')
  const { port } = probe.address() as AddressInfo
  probe.close()
  await once(probe, 'close')
  return port
}

async function start(port: number): Promise<void> {
  host = `127.0.0.1:${port}`
  const env = { ...process.env, PORT: String(port) }
  server = spawn(process.execPath, [PROGRAM, 'streamableHttp'], { env, stdio: ['ignore', 'ignore', 'pipe'] })
  let said = ''
  for await (const piece of server.stderr ?? []) if ((said += String(piece)).includes('listening on port')) break
}

async function stop(): Promise<void> {
  const ended = once(server, 'exit')
  server.kill('SIGKILL')
  await ended
}

beforeAll(async () => start(await freePort()))
afterAll(stop)

const call = (name: string, input: object): Turn => ({
  calls: [{ id: `call_${name}`, name: `everything__${name}`, arguments: JSON.stringify(input) }],
})

test('an agent uses the tools of the official reference server, even after its restart', async () => {
  const mcp = [serverAt(`http://${host}/mcp`, { name: 'everything' })]
  const restarted: Turn = async function* () {
    await stop()
    await start(Number(host.split(':')[1]))
    const { completionOf } = await import('../agent/harness.ts')
    const turn = call('get-sum', { a: 2, b: 40 })
    if (typeof turn !== 'function') yield { type: 'completion', completion: completionOf(turn) }
  }
  const harness = await openHarness({
    mcp,
    registry: (list, outputs) => createMcpToolRegistry({ list, outputs, connect: connector(host) }),
    script: [
      call('echo', { message: 'blue crates' }),
      call('get-tiny-image', {}),
      call('get-structured-content', { location: 'Chicago' }),
      call('get-resource-links', { count: 2 }),
      call('get-resource-reference', { resourceType: 'Text', resourceId: 1 }),
      call('trigger-long-running-operation', { duration: 0.2, steps: 4 }),
      call('get-sum', { a: 'two' }),
      restarted,
      { text: 'done' },
    ],
  })
  try {
    const run = await harness.settled(await harness.submit('try everything'))
    expect(run.status).toBe('completed')
    const results = (await harness.log()).flatMap((message) => (message.role === 'tool' ? [message] : []))
    const [echo, image, structured, links, resource, long, bad, sum] = results.map(({ status, parts }) => ({
      status,
      text: textOf(parts),
      kinds: parts.map(({ type }) => type),
    }))
    expect(echo).toMatchObject({ status: 'completed', text: 'Echo: blue crates' })
    expect(image?.kinds).toContain('image')
    expect(JSON.parse(structured?.text ?? '')).toHaveProperty('temperature')
    expect(links?.text.match(/^.+ — demo:\/\/.+$/gm)).toHaveLength(2)
    expect(resource?.text).toContain('Resource 1')
    expect(long).toMatchObject({ status: 'completed', text: expect.stringContaining('Steps: 4') })
    expect(bad).toMatchObject({ status: 'error', text: expect.stringContaining('get-sum') })
    expect(sum).toMatchObject({ status: 'completed', text: expect.stringContaining('42') })
    expect(harness.requests.at(-1)?.tools).toEqual(harness.requests[0]?.tools)
  } finally {
    await harness.close()
  }
})
