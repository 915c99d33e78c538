/* Evidence, limits: Unsigned bodies and silent connections do not prevent requests of other clients. */
import { once } from 'node:events'
import { connect } from 'node:net'
import type { Socket } from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startScriptedProgram } from './scripted-program.ts'
import type { ScriptedProgram } from './scripted-program.ts'

/** Needs 4,300 file descriptors. */
const IDLE_CONNECTIONS = 4_200
const IN_A_BATCH = 300

let scripted: ScriptedProgram
beforeAll(async () => void (scripted = await startScriptedProgram()))
afterAll(() => scripted.close())

async function expectHealth(idle: number): Promise<void> {
  const { hostname, port } = new URL(scripted.client.url)
  const sockets: Socket[] = []
  try {
    while (sockets.length < idle) {
      const batch = Array.from({ length: Math.min(IN_A_BATCH, idle - sockets.length) }, () =>
        connect({ port: Number(port), host: hostname }).on('error', () => undefined),
      )
      await Promise.all(batch.map((socket) => Promise.race([once(socket, 'connect'), once(socket, 'close')])))
      sockets.push(...batch)
    }
    const options = { headers: { connection: 'close' }, signal: AbortSignal.timeout(20_000) }
    const health = await fetch(`${scripted.client.url}/healthz`, options).catch((error: unknown) => String(error))
    expect(health).toMatchObject({ status: 200 })
  } finally {
    for (const socket of sockets) socket.destroy()
  }
}

test('a program with 10 idle connections accepts another one', () => expectHealth(10))

test('a program with 4,200 idle connections accepts another one', () => expectHealth(IDLE_CONNECTIONS))
