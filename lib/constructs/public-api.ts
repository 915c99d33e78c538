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
  /** ARN of a certificate for the name, in the region of the API. */
  readonly certificate: string
  /** @default - somebody else points the name at the API */
  readonly hostedZone?: { readonly id: string; readonly name: string } | undefined
}

export interface PublicApiProps {
  readonly handler: IFunction
  readonly apiName: string
  readonly logDays: RetentionDays
  /** Requests a second to paths that need a key, and how large a burst may be. */
  readonly throttle: { readonly rate: number; readonly burst: number }
  /** Limits for paths that need no key. */
  readonly openThrottle: { readonly rate: number; readonly burst: number }
  /**
   * Who sets the role by which API Gateway writes logs, once for an account and region.
   * @default 'own'
   */
  readonly logRole?: 'own' | 'shared' | undefined
  /** @default - no firewall */
  readonly firewall?: { readonly requestsPerAddress: number; readonly requestsPerKey?: number | undefined } | undefined
  /** @default - an address of API Gateway */
  readonly customDomain?: CustomDomain | undefined
  /**
   * Whether web pages of other origins call it.
   * @default false
   */
  readonly cors?: boolean
  /**
   * Whether X-Ray gets the times of requests.
   * @default false
   */
  readonly xray?: boolean
  /**
   * VPC endpoints through which alone it is reached.
   * @default - it is reached from everywhere
   */
  readonly vpcEndpoints?: readonly string[] | undefined
  /**
   * Addresses and ranges (CIDR) that may call it.
   * @default - all
   */
  readonly allowedAddresses?: readonly string[] | undefined
}

/** The longest that API Gateway lets a stream take. */
const MAX_STREAM_DURATION = Duration.minutes(15)
const STAGE = 'api'

/** Path prefixes whose requests need a key. All other paths need none, or check a signature of their own. */
const KEYED_PATHS = ['v1', 'openai', 'mcp']
/** Methods without a key. Their throttle is their own: a flood of unsigned requests takes nothing of what tenants may send. */
const OPEN_METHODS = ['//ANY', '/{proxy+}/ANY']

const openOptions = ({ openThrottle }: PublicApiProps) => ({
  throttlingRateLimit: openThrottle.rate,
  throttlingBurstLimit: openThrottle.burst,
  // An override of a method replaces all of its stage's settings.
  metricsEnabled: false,
  loggingLevel: MethodLoggingLevel.ERROR,
  dataTraceEnabled: false,
})

/** The API in front of its function: it passes everything on, and streams responses back. */
export class PublicApi extends Construct {
  readonly rest: RestApi
  readonly accessLogs: LogGroup
  /** Without a slash at the end. */
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
      // Bodies arrive in base64, always a third longer: 4 MB stay below the 6 MB of an invocation. As text, quotes would
      // count twice, and what is not UTF-8 would be lost.
      binaryMediaTypes: ['*/*'],
      // One role of an account and region writes the logs of all APIs. It stays for the others when this one is deleted.
      ...(props.logRole === 'shared'
        ? { cloudWatchRole: false }
        : { cloudWatchRole: true, cloudWatchRoleRemovalPolicy: RemovalPolicy.RETAIN }),
      deployOptions: {
        stageName: STAGE,
        throttlingRateLimit: props.throttle.rate,
        throttlingBurstLimit: props.throttle.burst,
        methodOptions: Object.fromEntries(OPEN_METHODS.map((method) => [method, openOptions(props)])),
        // Those of each method cost $0.30 a month each, and nothing here asks for them: those of the whole API are always there.
        metricsEnabled: false,
        // Errors of API Gateway itself. What people say is logged nowhere.
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
      // A proxy leaves the path itself out.
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

  /** API Gateway writes its own errors to a group of this name, and makes one that stays for ever unless it is there before. */
  #keepErrors(retention: RetentionDays): void {
    const errors = new LogGroup(this, 'Errors', {
      logGroupName: `API-Gateway-Execution-Logs_${this.rest.restApiId}/${STAGE}`,
      retention,
      removalPolicy: RemovalPolicy.DESTROY,
    })
    this.rest.deploymentStage.node.addDependency(errors)
  }

  /** Private with endpoints: names of such an API lead to them. */
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

  /** What API Gateway itself refuses never reaches the app, and a page could not read it. It holds no secret. */
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
 * One line of JSON per request. No header, query or body: these may hold keys and what people said. `error.messageString` has quotes of
 * its own, which would end a value too early (docs.aws.amazon.com/apigateway/latest/developerguide/api-gateway-variables-for-access-logging.html).
 */
const ACCESS = {
  requestId: '$context.requestId',
  time: '$context.requestTime',
  method: '$context.httpMethod',
  path: '$context.path',
  status: '$context.status',
  milliseconds: '$context.responseLatency',
  // Time to the first byte of the body; `-` for responses of API Gateway itself.
  firstByteMilliseconds: '$context.integration.timeToFirstContent',
  bytes: '$context.responseLength',
  address: '$context.identity.sourceIp',
  agent: '$context.identity.userAgent',
  error: '$context.error.message',
  integrationError: '$context.integrationErrorMessage',
}

/** The API's own policy, which refuses what comes through another endpoint or from another address. */
function accessPolicy({ vpcEndpoints = [], allowedAddresses = [] }: PublicApiProps) {
  if (vpcEndpoints.length === 0 && allowedAddresses.length === 0) return {}
  // Requests through an endpoint have an address of the network.
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
