import { Duration, RemovalPolicy, Validations } from 'aws-cdk-lib'
import type { IGrantable } from 'aws-cdk-lib/aws-iam'
import type { IKey } from 'aws-cdk-lib/aws-kms'
import { BlockPublicAccess, Bucket, BucketEncryption, ObjectOwnership } from 'aws-cdk-lib/aws-s3'
import type { IBucket } from 'aws-cdk-lib/aws-s3'
import { Construct } from 'constructs'
import { allow } from './allow.ts'
import { grantKeyUse } from './key-use.ts'

export interface OutputBucketProps {
  /**
   * Keeps the bucket when the stack is deleted. If false, the bucket must be emptied before the deletion.
   * @default true
   */
  readonly retain?: boolean
  /**
   * Logs each request to the bucket in a second bucket, which keeps the logs for a year.
   * @default false
   */
  readonly accessLogs?: boolean
  /** @default - a key of AWS, without cost */
  readonly encryptionKey?: IKey | undefined
  /**
   * Name of a bucket that another deployment left behind. This bucket is used instead of a new one.
   * @default - the bucket of this stack is used
   */
  readonly restored?: string | undefined
}

const HOUSE_RULES = {
  enforceSSL: true,
  minimumTLSVersion: 1.2,
  blockPublicAccess: BlockPublicAccess.BLOCK_ALL,
  objectOwnership: ObjectOwnership.BUCKET_OWNER_ENFORCED,
}

/**
 * The bucket of outputs. The keys of a session's objects have a hash as their prefix. The objects can be listed only
 * with this prefix.
 */
export class OutputBucket extends Construct {
  /** The bucket in use. */
  readonly bucket: IBucket

  constructor(scope: Construct, id: string, props: OutputBucketProps = {}) {
    super(scope, id)
    const { retain = true, accessLogs = false, encryptionKey } = props
    const removalPolicy = retain ? RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE : RemovalPolicy.DESTROY
    const made = new Bucket(this, 'Bucket', {
      ...HOUSE_RULES,
      removalPolicy,
      encryption: encryptionKey === undefined ? BucketEncryption.S3_MANAGED : BucketEncryption.KMS,
      ...(encryptionKey === undefined ? {} : { encryptionKey, bucketKeyEnabled: true }),
      ...(accessLogs ? { serverAccessLogsBucket: this.#logBucket(removalPolicy) } : {}),
      // Objects are never replaced, and are removed with their session. So versions of objects would only preserve
      // deleted data.
      lifecycleRules: [{ id: 'unfinished-uploads', abortIncompleteMultipartUploadAfter: Duration.days(1) }],
    })
    this.bucket =
      props.restored === undefined
        ? (made as IBucket)
        : Bucket.fromBucketAttributes(this, 'Restored', {
            bucketName: props.restored,
            ...(encryptionKey === undefined ? {} : { encryptionKey }),
          })
    if (!accessLogs)
      Validations.of(made).acknowledge({
        id: 'AwsSolutions-S1',
        reason:
          'Access logs are a setting of the environment (bucketAccessLogs): on in prod, off where outputs are tests.',
      })
  }

  /** Grants storing and reading outputs. */
  grantOutputs(grantee: IGrantable): void {
    this.#allowObjects(grantee, ['s3:GetObject', 's3:PutObject', 's3:AbortMultipartUpload'])
    this.#allowList(grantee)
    grantKeyUse(this.bucket.encryptionKey, grantee)
  }

  /** Grants reading outputs. */
  grantRead(grantee: IGrantable): void {
    this.#allowObjects(grantee, ['s3:GetObject'])
    this.#allowList(grantee)
    grantKeyUse(this.bucket.encryptionKey, grantee)
  }

  /** Grants removing all outputs of a session. */
  grantRemoval(grantee: IGrantable): void {
    this.#allowObjects(grantee, ['s3:DeleteObject'])
    this.#allowList(grantee)
  }

  #allowObjects(grantee: IGrantable, actions: string[]): void {
    const because = 'Objects of every session: their prefixes are hashes, unknown before the sessions exist.'
    allow(grantee, { actions, resources: [this.bucket.arnForObjects('*')], because })
  }

  /** Grants listing. Without this right, S3 responds with 403 for a missing object, which would look like a failure. */
  #allowList(grantee: IGrantable): void {
    allow(grantee, { actions: ['s3:ListBucket'], resources: [this.bucket.bucketArn] })
  }

  #logBucket(removalPolicy: RemovalPolicy): IBucket {
    const logs = new Bucket(this, 'AccessLogs', {
      ...HOUSE_RULES,
      removalPolicy,
      encryption: BucketEncryption.S3_MANAGED,
      lifecycleRules: [{ id: 'a-year', expiration: Duration.days(365) }],
    })
    Validations.of(logs).acknowledge({
      id: 'AwsSolutions-S1',
      reason: 'This is the bucket that the access logs go to.',
    })
    return logs as IBucket
  }
}
