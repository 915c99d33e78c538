import type { IGrantable } from 'aws-cdk-lib/aws-iam'
import type { IKey } from 'aws-cdk-lib/aws-kms'

/**
 * Rights to use a key. DynamoDB, S3, SQS and Secrets Manager need these rights on behalf of their callers. A wildcard
 * such as `ReEncrypt*` is not necessary.
 */
const USES = [
  'kms:Decrypt',
  'kms:DescribeKey',
  'kms:Encrypt',
  'kms:GenerateDataKey',
  'kms:GenerateDataKeyWithoutPlaintext',
  'kms:ReEncryptFrom',
  'kms:ReEncryptTo',
]

/** Grants reading and writing data that are encrypted with `key`. Does nothing without a key. */
export function grantKeyUse(key: IKey | undefined, grantee: IGrantable): void {
  key?.grant(grantee, ...USES)
}
