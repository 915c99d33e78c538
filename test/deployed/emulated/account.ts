import { CloudFormationClient, DescribeStacksCommand } from '@aws-sdk/client-cloudformation'
import { DeleteObjectsCommand, ListObjectsV2Command, S3Client } from '@aws-sdk/client-s3'

/** The emulated account, as used by the checks. */
export interface Account {
  /** Names of the stacks with this prefix, in order. */
  stacks(prefix: string): Promise<string[]>
  output(stack: string, name: string): Promise<string>
  /** Removes every object of a bucket. */
  empty(bucket: string): Promise<void>
  /** The address of an environment's API. */
  address(environment: string): Promise<string>
}

/** Opens the account behind a port. */
export function openAccount(port: number): Account {
  const settings = {
    endpoint: `http://localhost:${port}`,
    region: 'us-east-1',
    credentials: { accessKeyId: 'test', secretAccessKey: 'test' },
  }
  const cloudformation = new CloudFormationClient(settings)
  const s3 = new S3Client({ ...settings, forcePathStyle: true })
  const output = async (stack: string, name: string): Promise<string> => {
    const { Stacks } = await cloudformation.send(new DescribeStacksCommand({ StackName: stack }))
    const value = Stacks?.[0]?.Outputs?.find(({ OutputKey }) => OutputKey === name)?.OutputValue
    if (value === undefined) throw new Error(`${stack} has no output ${name}`)
    return value
  }
  return {
    output,
    async stacks(prefix) {
      const { Stacks = [] } = await cloudformation.send(new DescribeStacksCommand({}))
      return Stacks.flatMap(({ StackName = '' }) => (StackName.startsWith(prefix) ? [StackName] : [])).toSorted()
    },
    async empty(bucket) {
      for (;;) {
        const { Contents = [] } = await s3.send(new ListObjectsV2Command({ Bucket: bucket }))
        if (Contents.length === 0) return
        const Objects = Contents.map(({ Key }) => ({ Key }))
        await s3.send(new DeleteObjectsCommand({ Bucket: bucket, Delete: { Objects } }))
      }
    },
    async address(environment) {
      const api = /^https:\/\/([^.]+)\./.exec(await output(`tooltrail-${environment}-app`, 'ApiUrl'))?.[1]
      return `http://localhost:${port}/restapis/${api}/api/_user_request_`
    },
  }
}
