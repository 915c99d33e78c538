import type { IGrantable } from 'aws-cdk-lib/aws-iam'
import type { IKey } from 'aws-cdk-lib/aws-kms'

/** What DynamoDB, S3, SQS and Secrets Manager do with a key on behalf of their callers, one by one: no `ReEncrypt*`. */
const USES = [
  'kms:Decrypt',
  'kms:DescribeKey',
  'kms:Encrypt',
  'kms:GenerateDataKey',
  'kms:GenerateDataKeyWithoutPlaintext',
  'kms:ReEncryptFrom',
  'kms:ReEncryptTo',
]

/** Lets `grantee` read and write what is encrypted with `key`; without a key of your own there is nothing to grant. */
export function grantKeyUse(key: IKey | undefined, grantee: IGrantable): void {
  key?.grant(grantee, ...USES)
}
