import { CloudFormationServiceException, DescribeStacksCommand } from '@aws-sdk/client-cloudformation'
import type { CloudFormationClient } from '@aws-sdk/client-cloudformation'

/** A stack's outputs by name. Undefined when there is no such stack in the client's account and region. */
export async function readStackOutputs(
  client: CloudFormationClient,
  stackName: string,
): Promise<Readonly<Record<string, string>> | undefined> {
  try {
    const { Stacks: stacks = [] } = await client.send(new DescribeStacksCommand({ StackName: stackName }))
    const outputs = stacks[0]?.Outputs ?? []
    return Object.fromEntries(outputs.map(({ OutputKey, OutputValue }) => [OutputKey ?? '', OutputValue ?? '']))
  } catch (error) {
    // CloudFormation has no error of its own for this.
    if (error instanceof CloudFormationServiceException && /does not exist/.test(error.message)) return undefined
    throw error
  }
}
