import { CloudFormationServiceException, DescribeStacksCommand } from '@aws-sdk/client-cloudformation'
import type { CloudFormationClient } from '@aws-sdk/client-cloudformation'

/** Returns a stack's outputs by name; undefined if the client's account and region have no such stack. */
export async function readStackOutputs(
  client: CloudFormationClient,
  stackName: string,
): Promise<Readonly<Record<string, string>> | undefined> {
  try {
    const { Stacks: stacks = [] } = await client.send(new DescribeStacksCommand({ StackName: stackName }))
    const outputs = stacks[0]?.Outputs ?? []
    return Object.fromEntries(outputs.map(({ OutputKey, OutputValue }) => [OutputKey ?? '', OutputValue ?? '']))
  } catch (error) {
    // CloudFormation has no specific error for a missing stack.
    if (error instanceof CloudFormationServiceException && /does not exist/.test(error.message)) return undefined
    throw error
  }
}
