import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { cached } from './cache.ts'
import { freePort, makeScratch, runCommand, startProcess } from './process.ts'
import type { Engine } from './process.ts'

const VERSION = '1.7.1'
const START_MS = 300_000

/** Starts ElasticMQ, which serves SQS from memory. It enforces SQS's own limits. */
export async function startSqs(): Promise<Engine> {
  const jars = await cached(`elasticmq-${VERSION}`, (folder) =>
    runCommand(
      'mvn',
      [
        ...['-q', '-B', '-f', join(import.meta.dirname, 'elasticmq', 'pom.xml'), 'dependency:copy-dependencies'],
        ...[`-Delasticmq.version=${VERSION}`, `-Dout=${folder}`, `-DoutputDirectory=${folder}`],
      ],
      folder,
    ),
  )
  const [scratch, port] = await Promise.all([makeScratch('sqs'), freePort()])
  const settings = join(scratch, 'elasticmq.conf')
  await writeFile(
    settings,
    [
      'include classpath("application.conf")',
      `node-address { protocol = http, host = 127.0.0.1, port = ${port}, context-path = "" }`,
      `rest-sqs { enabled = true, bind-port = ${port}, bind-hostname = "127.0.0.1", sqs-limits = strict }`,
      'rest-stats { enabled = false }',
      'generate-node-address = false',
      'queues { }',
    ].join('\n'),
  )
  return startProcess({
    name: 'ElasticMQ',
    port,
    scratch,
    command: 'java',
    args: [
      // The Java options equal those of DynamoDB Local, because both servers run for only a few minutes.
      ...['-Xmx256m', '-XX:+UseSerialGC', '-XX:TieredStopAtLevel=1'],
      ...[`-Djava.io.tmpdir=${scratch}`, `-Dconfig.file=${settings}`],
      ...['-cp', join(jars, '*'), 'org.elasticmq.server.Main'],
    ],
    timeoutMs: START_MS,
    healthy: async (endpoint) => (await fetch(`${endpoint}/?Action=ListQueues`)).ok,
  })
}
