import { AssetHashType, DockerImage, RemovalPolicy, Validations } from 'aws-cdk-lib'
import type { Duration } from 'aws-cdk-lib'
import { Effect, PolicyStatement, Role, ServicePrincipal } from 'aws-cdk-lib/aws-iam'
import { Architecture, Code, Function, LoggingFormat, Runtime, Tracing } from 'aws-cdk-lib/aws-lambda'
import type { AssetCode, CfnFunction, RecursiveLoop } from 'aws-cdk-lib/aws-lambda'
import { LogGroup } from 'aws-cdk-lib/aws-logs'
import type { RetentionDays } from 'aws-cdk-lib/aws-logs'
import type { Construct } from 'constructs'
import { execFileSync } from 'node:child_process'
import { dirname, resolve } from 'node:path'
import { allow } from '../allow.ts'
import { wildcardId } from '../../checks.ts'
import { CACHE_FOLDER } from '../../code-cache.ts'
import { handlerFile, type BundleOptions, type Handler } from '../../bundle.ts'

export interface NodeFunctionProps {
  /** Name of the file in `functions/handlers/`. */
  readonly handler: Handler
  readonly description: string
  readonly variables: object
  readonly timeout: Duration
  /** Memory in MiB. With 1,769 MiB, Lambda provides a whole processor. */
  readonly memory: number
  readonly logDays: RetentionDays
  /**
   * Keeps the logs when the stack is deleted, until they expire.
   * @default true
   */
  readonly retain?: boolean
  /**
   * Files that are deployed with the code.
   * @default - no custom tools or agents
   */
  readonly bundle?: BundleOptions
  /**
   * Whether Lambda ends a chain of invocations through a queue after 16 invocations.
   * @default RecursiveLoop.TERMINATE
   */
  readonly recursiveLoop?: RecursiveLoop
  /**
   * Number of concurrent executions that are reserved for the function. It is also the function's maximum.
   * @default - the function uses the executions of the account
   */
  readonly reserved?: number
  /**
   * How Lambda handles an asynchronous event whose invocation fails or is throttled.
   * @default - Lambda retries twice after a failure, and for six hours if throttled
   */
  readonly asynchronous?: Asynchronous
  /**
   * Subnets of the function.
   * @default - the function is in no network of the account
   */
  readonly vpc?: Network | undefined
  /**
   * Whether X-Ray receives the times of invocations.
   * @default false
   */
  readonly xray?: boolean
}

/** Subnets and security groups of a network. */
export interface Network {
  readonly subnets: readonly string[]
  readonly securityGroups: readonly string[]
}

interface Asynchronous {
  readonly retryAttempts: number
  readonly maxEventAge: Duration
}

/** A function: arm64, Node 24, with its own bundle, its own role, and a log group whose lines expire. */
export class NodeFunction extends Function {
  override readonly role: Role
  readonly logs: LogGroup
  /** Asynchronous settings, which an alias of the function must set too, because it does not inherit them. */
  readonly asynchronous: Asynchronous | undefined

  constructor(scope: Construct, id: string, props: NodeFunctionProps) {
    const logs = new LogGroup(scope, `${id}Logs`, {
      retention: props.logDays,
      // By default, logs are kept when the stack is deleted, because they may explain a failure.
      removalPolicy: (props.retain ?? true) ? RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE : RemovalPolicy.DESTROY,
    })
    // AWS's managed policy is not used, because it allows writing to every log group.
    const role = new Role(scope, `${id}Role`, { assumedBy: new ServicePrincipal('lambda.amazonaws.com') })
    role.addToPolicy(
      new PolicyStatement({
        effect: Effect.ALLOW,
        actions: ['logs:CreateLogStream', 'logs:PutLogEvents'],
        resources: [logs.logGroupArn],
      }),
    )
    if (props.vpc !== undefined) allowNetworkInterfaces(role)
    super(scope, id, {
      description: props.description,
      runtime: Runtime.NODEJS_24_X,
      architecture: Architecture.ARM_64,
      handler: 'index.handler',
      code: bundledCode(props.handler, props.bundle ?? {}),
      environment: Object.fromEntries(Object.entries(props.variables).filter(([, value]) => value !== undefined)),
      timeout: props.timeout,
      memorySize: props.memory,
      loggingFormat: LoggingFormat.TEXT,
      logGroup: logs,
      role,
      ...(props.recursiveLoop === undefined ? {} : { recursiveLoop: props.recursiveLoop }),
      ...props.asynchronous,
      ...(props.xray === true ? { tracing: Tracing.ACTIVE } : {}),
      ...(props.reserved === undefined ? {} : { reservedConcurrentExecutions: props.reserved }),
    })
    // The library's own setting for networks is not used, because it looks up the network and grants more than Lambda
    // needs.
    if (props.vpc !== undefined)
      (this.node.defaultChild as CfnFunction).vpcConfig = {
        subnetIds: [...props.vpc.subnets],
        securityGroupIds: [...props.vpc.securityGroups],
      }
    this.role = role
    this.logs = logs
    this.asynchronous = props.asynchronous
    if (props.xray === true)
      Validations.of(role).acknowledge({
        id: wildcardId('*'),
        reason: 'Traces of X-Ray belong to no resource.',
      })
  }
}

/**
 * Grants the rights to network interfaces, which Lambda requires of the role. Most of them cannot be limited to a resource:
 * https://docs.aws.amazon.com/lambda/latest/dg/configuration-vpc.html
 */
const allowNetworkInterfaces = (role: Role): void =>
  allow(role, {
    actions: [
      'ec2:CreateNetworkInterface',
      'ec2:DescribeNetworkInterfaces',
      'ec2:DescribeSubnets',
      'ec2:DeleteNetworkInterface',
      'ec2:AssignPrivateIpAddresses',
      'ec2:UnassignPrivateIpAddresses',
    ],
    resources: ['*'],
    because: 'Lambda makes network interfaces, which do not exist before and cannot be named.',
  })

/**
 * Bundles the code with esbuild on this machine, not in Docker. The bundle's name is a hash of its content, so that
 * unchanged code is not deployed again.
 */
function bundledCode(handler: Handler, options: BundleOptions): AssetCode {
  return Code.fromAsset(dirname(handlerFile(handler)), {
    assetHashType: AssetHashType.OUTPUT,
    // The bundle contains the code cache, but its hash does not: two caches of equal code differ. The entry names the
    // version of Node that made the cache.
    exclude: [CACHE_FOLDER],
    bundling: {
      // The image is never used, because bundling does not fall back to it. `command` is never executed: it only lets
      // CDK distinguish two bundles.
      image: DockerImage.fromRegistry('none'),
      command: [handler, JSON.stringify(options)],
      local: {
        tryBundle(folder) {
          const program = resolve(import.meta.dirname, '../../bundle-command.ts')
          execFileSync(process.execPath, [program, handler, folder, JSON.stringify(options)], { stdio: 'inherit' })
          return true
        },
      },
    },
  })
}
