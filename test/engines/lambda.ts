import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { cached } from './cache.ts'
import { runCommand } from './process.ts'
import type { Engine } from './process.ts'

const VERSION = '4.0.2'

/**
 * Lambda's own runtime client, compiled on first use (cmake, g++ and make, about a minute). It is not a server: its endpoint is
 * the file to run.
 */
export async function installLambda(): Promise<Engine> {
  const folder = await cached(`aws-lambda-ric-${VERSION}`, (into) =>
    runCommand('npm', ['install', '--prefix', into, '--no-audit', '--no-fund', `aws-lambda-ric@${VERSION}`], into),
  )
  const client = join(folder, 'node_modules', 'aws-lambda-ric', 'index.mjs')
  return { endpoint: pathToFileURL(client).href, stop: () => Promise.resolve() }
}
