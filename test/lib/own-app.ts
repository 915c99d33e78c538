import { App, Stack } from 'aws-cdk-lib'
import { Tooltrail } from '../../lib/constructs/tooltrail.ts'

const stack = new Stack(new App(), 'Assistant')
const { publicApi } = new Tooltrail(stack, 'Tooltrail', {
  model: 'bedrock/us.anthropic.claude-sonnet-5-5',
  search: { kind: 'domain', instance: 't3.small.search', nodes: 1, volume: 10, standby: false },
})
stack.exportValue(publicApi.url, { name: 'AssistantUrl' })
