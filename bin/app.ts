import { App } from 'aws-cdk-lib'
import { createStacks } from '../lib/create-stacks.ts'
import { EnvironmentError, readEnvironment } from '../lib/environments.ts'

const app = new App()
const { CDK_DEFAULT_ACCOUNT: account, CDK_DEFAULT_REGION: region } = process.env
try {
  createStacks(app, readEnvironment(app.node.tryGetContext('env')), {
    ...(account === undefined ? {} : { account }),
    ...(region === undefined ? {} : { region }),
  })
} catch (error) {
  if (!(error instanceof EnvironmentError)) throw error
  process.stderr.write(`${error.message}\n`)
  process.exitCode = 1
}
