/**
 * Rejects changes that AWS would reject in the middle of a deployment. Then runs `cdk deploy --all` with the arguments
 * of this program.
 */
import { CloudFormationClient, DescribeStacksCommand } from '@aws-sdk/client-cloudformation'
import { spawn } from 'node:child_process'
import { resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { EnvironmentError, readEnvironment, type Environment } from '../lib/environments.ts'
import { checkFixedSettings, type DeployedOutputs } from '../lib/fixed-settings.ts'

const CDK = resolve(import.meta.dirname, '../node_modules/aws-cdk/bin/cdk')
const argv = process.argv.slice(2)

try {
  const environment = environmentOf(argv)
  checkFixedSettings(environment, await readSearchOutputs(environment))
  const cdk = spawn(process.execPath, [CDK, 'deploy', '--all', ...argv], { stdio: 'inherit' })
  // The terminal sends Ctrl-C to both processes. This process ignores it and waits until CDK ends.
  process.on('SIGINT', () => undefined)
  process.on('SIGTERM', () => cdk.kill('SIGTERM'))
  cdk.on('exit', (code) => (process.exitCode = code ?? 1))
} catch (error) {
  if (!(error instanceof EnvironmentError)) throw error
  process.stderr.write(`${error.message}\n`)
  process.exitCode = 1
}

/** Reads the settings from the options `-c name=value`, which `bin/app.ts` reads too. */
function environmentOf(words: readonly string[]): Environment {
  const options = { context: { type: 'string', short: 'c', multiple: true } } as const
  const { values } = parseArgs({ args: [...words], options, strict: false, allowPositionals: true })
  const pairs = (values.context ?? [])
    .map(String)
    .map((text) => [text.split('=')[0], text.slice(text.indexOf('=') + 1)])
  const { env, alarmEmail, canary, operator } = Object.fromEntries(pairs) as Record<string, string | undefined>
  return readEnvironment(env, { alarmEmail, canary, operator })
}

/**
 * Reads the outputs of the deployed search stack. Undefined if the stack is not deployed, or if its outputs cannot be
 * read. If they cannot be read, CDK later reports the reason.
 */
async function readSearchOutputs({ name, region }: Environment): Promise<DeployedOutputs | undefined> {
  const client = new CloudFormationClient(region === undefined ? {} : { region })
  try {
    const { Stacks } = await client.send(new DescribeStacksCommand({ StackName: `tooltrail-${name}-search` }))
    const outputs = Stacks?.[0]?.Outputs ?? []
    return Object.fromEntries(outputs.map(({ OutputKey = '', OutputValue = '' }) => [OutputKey, OutputValue]))
  } catch {
    return undefined
  } finally {
    client.destroy()
  }
}
