import { Aws, Duration, RemovalPolicy, Stack, Validations } from 'aws-cdk-lib'
import {
  AccessLogFormat,
  EndpointType,
  LambdaIntegration,
  LogGroupLogDestination,
  MethodLoggingLevel,
  ResponseTransferMode,
  ResponseType,
  RestApi,
  SecurityPolicy,
} from 'aws-cdk-lib/aws-apigateway'
import { Certificate } from 'aws-cdk-lib/aws-certificatemanager'
import { InterfaceVpcEndpoint } from 'aws-cdk-lib/aws-ec2'
import { AnyPrincipal, Effect, PolicyDocument, PolicyStatement } from 'aws-cdk-lib/aws-iam'
import type { IFunction } from 'aws-cdk-lib/aws-lambda'
import { LogGroup } from 'aws-cdk-lib/aws-logs'
import type { RetentionDays } from 'aws-cdk-lib/aws-logs'
import { ARecord, HostedZone, RecordTarget } from 'aws-cdk-lib/aws-route53'
import { ApiGatewayDomain } from 'aws-cdk-lib/aws-route53-targets'
import { Construct } from 'constructs'
import { Firewall } from './firewall.ts'

export interface CustomDomain {
  readonly name: string
  /** ARN of a certificate for the domain name, in the region of the API. */
  readonly certificate: string
  /**
   * The hosted zone in which the DNS record of the name is created.
   * @default - you create the DNS record yourself
   */
  readonly hostedZone?: { readonly id: string; readonly name: string } | undefined
}

export interface PublicApiProps {
  readonly handler: IFunction
  readonly apiName: string
  readonly logDays: RetentionDays
  /** Limits of paths that need a key: requests per second, and the maximum burst. */
  readonly throttle: { readonly rate: number; readonly burst: number }
  /** Limits of paths that need no key. */
  readonly openThrottle: { readonly rate: number; readonly burst: number }
  /**
   * `own`: this stack sets the account's role for API Gateway's logs. `shared`: another stack has set this role. There
   * is one role per account and region.
   * @default 'own'
   */
  readonly logRole?: 'own' | 'shared' | undefined
  /** @default - no firewall */
  readonly firewall?: { readonly requestsPerAddress: number; readonly requestsPerKey?: number | undefined } | undefined
  /** @default - an address of API Gateway */
  readonly customDomain?: CustomDomain | undefined
  /**
   * Whether web pages of other origins may call the API.
   * @default false
   */
  readonly cors?: boolean
  /**
   * Whether X-Ray receives the times of requests.
   * @default false
   */
  readonly xray?: boolean
  /**
   * Ids of VPC endpoints. If set, the API can be reached only through them.
   * @default - the API is reachable from everywhere
   */
  readonly vpcEndpoints?: readonly string[] | undefined
  /**
   * Addresses and ranges (CIDR) that may call the API.
   * @default - all
   */
  readonly allowedAddresses?: readonly string[] | undefined
}

/** Maximum duration of a stream in API Gateway. */
const MAX_STREAM_DURATION = Duration.minutes(15)
const STAGE = 'api'

/**
 * Path prefixes whose requests need a key. Requests to other paths need no key, or carry a signature that the app
 * checks.
 */
const KEYED_PATHS = ['v1', 'openai', 'mcp']
/**
 * Methods without a key. They have a separate throttle, so that a flood of requests without a key does not use up the
 * tenants' limit.
 */
const OPEN_METHODS = ['//ANY', '/{proxy+}/ANY']

const openOptions = ({ openThrottle }: PublicApiProps) => ({
  throttlingRateLimit: openThrottle.rate,
  throttlingBurstLimit: openThrottle.burst,
  // The settings of a method replace those of its stage. So the stage's other settings are repeated here.
  metricsEnabled: false,
  loggingLevel: MethodLoggingLevel.ERROR,
  dataTraceEnabled: false,
})

/** The API in front of its function. It passes every request on to the function, and streams the responses. */
export class PublicApi extends Construct {
  readonly rest: RestApi
  readonly accessLogs: LogGroup
  /** Address of the API, without a trailing slash. */
  readonly url: string

  constructor(scope: Construct, id: string, props: PublicApiProps) {
    super(scope, id)
    const { customDomain, vpcEndpoints = [] } = props
    this.accessLogs = new LogGroup(this, 'AccessLogs', {
      retention: props.logDays,
      removalPolicy: RemovalPolicy.DESTROY,
    })
    this.rest = new RestApi(this, 'Rest', {
      restApiName: props.apiName,
      ...this.#endpoints(vpcEndpoints),
      ...accessPolicy(props),
      // Bodies arrive as base64, which is always a third longer: 4 MB fit into the 6 MB of an invocation. If bodies
      // arrived as text, quotation marks would count twice, and bytes that are not UTF-8 would be lost.
      binaryMediaTypes: ['*/*'],
      // One role per account and region writes the logs of all APIs. So this role is kept when this API is deleted.
      ...(props.logRole === 'shared'
        ? { cloudWatchRole: false }
        : { cloudWatchRole: true, cloudWatchRoleRemovalPolicy: RemovalPolicy.RETAIN }),
      deployOptions: {
        stageName: STAGE,
        throttlingRateLimit: props.throttle.rate,
        throttlingBurstLimit: props.throttle.burst,
        methodOptions: Object.fromEntries(OPEN_METHODS.map((method) => [method, openOptions(props)])),
        // Metrics of methods cost $0.30 a month for each method, and nothing here uses them. Metrics of the whole API
        // always exist.
        metricsEnabled: false,
        // Logs errors of API Gateway itself, never the content of requests.
        loggingLevel: MethodLoggingLevel.ERROR,
        dataTraceEnabled: false,
        accessLogDestination: new LogGroupLogDestination(this.accessLogs),
        accessLogFormat: AccessLogFormat.custom(JSON.stringify(ACCESS)),
        tracingEnabled: props.xray ?? false,
      },
      ...(customDomain === undefined ? {} : { domainName: this.#domain(customDomain) }),
    })
    this.#keepErrors(props.logDays)
    const integration = new LambdaIntegration(props.handler, {
      responseTransferMode: ResponseTransferMode.STREAM,
      timeout: MAX_STREAM_DURATION,
      scopePermissionToMethod: false,
    })
    for (const resource of [this.rest.root, ...KEYED_PATHS.map((part) => this.rest.root.addResource(part))]) {
      // A proxy resource does not match its own parent path, so the parent needs a method too.
      resource.addMethod('ANY', integration)
      resource.addProxy({ defaultIntegration: integration })
    }
    this.url =
      customDomain === undefined
        ? `https://${[this.rest.restApiId, ...vpcEndpoints.slice(0, 1)].join('-')}.execute-api.${Stack.of(this).region}.${Aws.URL_SUFFIX}/${STAGE}`
        : `https://${customDomain.name}`
    if (props.cors === true) this.#publishPages()
    if (customDomain?.hostedZone !== undefined) this.#record(customDomain.name, customDomain.hostedZone)
    if (props.firewall !== undefined)
      new Firewall(this, 'Firewall', {
        ...props.firewall,
        name: props.apiName,
        resourceArn: this.rest.deploymentStage.stageArn,
      })
    acknowledge(this.rest, props.firewall !== undefined)
  }

  /**
   * Creates the log group for API Gateway's own errors. Otherwise, API Gateway would create a log group that never
   * expires.
   */
  #keepErrors(retention: RetentionDays): void {
    const errors = new LogGroup(this, 'Errors', {
      logGroupName: `API-Gateway-Execution-Logs_${this.rest.restApiId}/${STAGE}`,
      retention,
      removalPolicy: RemovalPolicy.DESTROY,
    })
    this.rest.deploymentStage.node.addDependency(errors)
  }

  /** Makes the API private if `ids` has VPC endpoints. The API's host names then resolve to these endpoints. */
  #endpoints(ids: readonly string[]) {
    if (ids.length === 0) return { endpointTypes: [EndpointType.REGIONAL] }
    const vpcEndpoints = ids.map((vpcEndpointId) =>
      InterfaceVpcEndpoint.fromInterfaceVpcEndpointAttributes(this, vpcEndpointId, { vpcEndpointId, port: 443 }),
    )
    return { endpointConfiguration: { types: [EndpointType.PRIVATE], vpcEndpoints } }
  }

  #domain({ name, certificate }: CustomDomain) {
    return {
      domainName: name,
      certificate: Certificate.fromCertificateArn(this, 'Certificate', certificate),
      endpointType: EndpointType.REGIONAL,
      securityPolicy: SecurityPolicy.TLS_1_2,
    }
  }

  /**
   * Adds CORS headers to API Gateway's own errors, because these never reach the app. Without the headers, a web page
   * could not read the errors. The errors contain no secret.
   */
  #publishPages(): void {
    for (const type of [ResponseType.DEFAULT_4XX, ResponseType.DEFAULT_5XX])
      this.rest.addGatewayResponse(type.responseType, {
        type,
        responseHeaders: { 'access-control-allow-origin': "'*'" },
      })
  }

  #record(recordName: string, { id, name }: { readonly id: string; readonly name: string }): void {
    if (this.rest.domainName === undefined) return
    const zone = HostedZone.fromHostedZoneAttributes(this, 'Zone', { hostedZoneId: id, zoneName: name })
    new ARecord(this, 'Record', {
      zone,
      recordName,
      target: RecordTarget.fromAlias(new ApiGatewayDomain(this.rest.domainName)),
    })
  }
}

/**
 * Format of the access log: one line of JSON per request. It has no header, query or body, because these may contain
 * keys and users' texts. `error.messageString` is not used, because its own quotation marks would end a value too early
 * (docs.aws.amazon.com/apigateway/latest/developerguide/api-gateway-variables-for-access-logging.html).
 */
const ACCESS = {
  requestId: '$context.requestId',
  time: '$context.requestTime',
  method: '$context.httpMethod',
  path: '$context.path',
  status: '$context.status',
  milliseconds: '$context.responseLatency',
  // Time to the first byte of the body. For responses of API Gateway itself, the value is `-`.
  firstByteMilliseconds: '$context.integration.timeToFirstContent',
  bytes: '$context.responseLength',
  address: '$context.identity.sourceIp',
  agent: '$context.identity.userAgent',
  error: '$context.error.message',
  integrationError: '$context.integrationErrorMessage',
}

/** Returns the policy of the API. If endpoints or addresses are listed, the policy allows only requests from these. */
function accessPolicy({ vpcEndpoints = [], allowedAddresses = [] }: PublicApiProps) {
  if (vpcEndpoints.length === 0 && allowedAddresses.length === 0) return {}
  // A request through a VPC endpoint comes from an address of the VPC.
  const source = vpcEndpoints.length === 0 ? 'aws:SourceIp' : 'aws:VpcSourceIp'
  const through = new PolicyStatement({
    effect: Effect.ALLOW,
    principals: [new AnyPrincipal()],
    actions: ['execute-api:Invoke'],
    resources: ['execute-api:/*'],
    conditions: {
      ...(vpcEndpoints.length === 0 ? {} : { StringEquals: { 'aws:SourceVpce': [...vpcEndpoints] } }),
      ...(allowedAddresses.length === 0 ? {} : { IpAddress: { [source]: [...allowedAddresses] } }),
    },
  })
  return { policy: new PolicyDocument({ statements: [through] }) }
}

function acknowledge(rest: RestApi, firewall: boolean): void {
  const validations = Validations.of(rest)
  const reasons: Record<string, string> = {
    'AwsSolutions-APIG2': 'The app checks every request against its own schemas, and its responses name what is wrong.',
    'AwsSolutions-APIG4': 'The app checks the API keys itself: they carry tenant, owner and scopes.',
    'AwsSolutions-COG4': 'The app checks the API keys itself: programs call it, not users of a Cognito pool.',
    'AwsSolutions-IAM4[Policy::arn:<AWS::Partition>:iam::aws:policy/service-role/AmazonAPIGatewayPushToCloudWatchLogs]':
      'AWS has this one policy for API Gateway to write logs with, and asks for it by name.',
    ...(firewall
      ? {}
      : { 'AwsSolutions-APIG3': 'A firewall costs $8 a month: a setting of the environment, on in prod.' }),
  }
  for (const [id, reason] of Object.entries(reasons)) validations.acknowledge({ id, reason })
}
