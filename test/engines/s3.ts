import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { cached } from './cache.ts'
import { freePort, makeScratch, runCommand, startProcess } from './process.ts'
import type { Engine } from './process.ts'

const VERSION = '4.1.0'
const START_MS = 300_000

/** Starts s3proxy, which serves S3 from a folder. Its credentials are `local` and `localsecret`. */
export async function startS3(): Promise<Engine> {
  const jars = await cached(`s3proxy-${VERSION}`, (folder) =>
    runCommand(
      'mvn',
      [
        ...['-q', '-B', 'dependency:copy', `-DoutputDirectory=${folder}`],
        `-Dartifact=org.gaul:s3proxy:${VERSION}:jar:jar-with-dependencies`,
      ],
      folder,
    ),
  )
  const [scratch, port] = await Promise.all([makeScratch('s3'), freePort()])
  const data = join(scratch, 'data')
  await mkdir(data)
  const settings = join(scratch, 's3proxy.conf')
  await writeFile(
    settings,
    [
      `s3proxy.endpoint=http://127.0.0.1:${port}`,
      's3proxy.authorization=aws-v2-or-v4',
      's3proxy.identity=local',
      's3proxy.credential=localsecret',
      'jclouds.provider=filesystem-nio2',
      'jclouds.identity=local',
      'jclouds.credential=local',
      `jclouds.filesystem.basedir=${data}`,
    ].join('\n'),
  )
  return startProcess({
    name: 's3proxy',
    port,
    scratch,
    command: 'java',
    args: [
      ...[
        '-Xmx256m',
        // The Java options equal those of DynamoDB Local, because both servers run for only a few minutes.
        '-XX:+UseSerialGC',
        '-XX:TieredStopAtLevel=1',
        `-Djava.io.tmpdir=${scratch}`,
        '-jar',
        join(jars, `s3proxy-${VERSION}-jar-with-dependencies.jar`),
      ],
      ...['--properties', settings],
    ],
    timeoutMs: START_MS,
    healthy: async (endpoint) => (await fetch(endpoint)).status < 500,
  })
}
