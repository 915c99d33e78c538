import type { IGrantable } from 'aws-cdk-lib/aws-iam'
import type { IKey } from 'aws-cdk-lib/aws-kms'

/** What DynamoDB, S3, SQS and Secrets Manager do with a key in the name of whoever calls them, one by one: no `ReEncrypt*`. */
const USES = [
  'kms:Decrypt',
  'kms:DescribeKey',
  'kms:Encrypt',
  'kms:GenerateDataKey',
  'kms:GenerateDataKeyWithoutPlaintext',
  'kms:ReEncryptFrom',
  'kms:ReEncryptTo',
]

/** Lets `grantee` read and write what is encrypted with `key`; without a key of one's own there is nothing to grant. */
export function grantKeyUse(key: IKey | undefined, grantee: IGrantable): void {
  key?.grant(grantee, ...USES)
}
