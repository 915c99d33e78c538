import { App } from 'aws-cdk-lib'
import { createStacks } from '../lib/create-stacks.ts'
import { EnvironmentError, readEnvironment } from '../lib/environments.ts'

const app = new App()
const { CDK_DEFAULT_ACCOUNT: account, CDK_DEFAULT_REGION: region } = process.env
try {
  createStacks(
    app,
    readEnvironment(app.node.tryGetContext('env'), {
      alarmEmail: app.node.tryGetContext('alarmEmail'),
      canary: app.node.tryGetContext('canary'),
      operator: app.node.tryGetContext('operator'),
    }),
    {
      ...(account === undefined ? {} : { account }),
      ...(region === undefined ? {} : { region }),
    },
  )
} catch (error) {
  process.exitCode = 1
  if (error instanceof EnvironmentError) process.stderr.write(`${error.message}\n`)
  // The bundling program has already printed the reason.
  else if (!(error instanceof Error) || !error.message.startsWith('Failed to bundle asset')) throw error
}
