import { RemovalPolicy, Stack, Validations } from 'aws-cdk-lib'
import { EbsDeviceVolumeType } from 'aws-cdk-lib/aws-ec2'
import { Effect, PolicyStatement, ServicePrincipal } from 'aws-cdk-lib/aws-iam'
import { LogGroup, ResourcePolicy, RetentionDays } from 'aws-cdk-lib/aws-logs'
import { Domain, EngineVersion, TLSSecurityPolicy } from 'aws-cdk-lib/aws-opensearchservice'
import { Construct } from 'constructs'
import type { AlarmRule } from '../monitoring/alarm-rule.ts'
import { allow } from '../allow.ts'
import type { HistorySearch, HistorySearchProps } from './history-search.ts'
import type { NodeFunction } from '../functions/node-function.ts'
import { domainRules } from '../monitoring/search-alarms.ts'

export interface SearchDomainProps extends HistorySearchProps {
  readonly instance: string
  readonly nodes: number
  readonly volume: number
  readonly standby: boolean
}

/**
 * Returns the instance type of the master nodes, which depends on the number of all nodes. AWS requires 8 GiB of memory
 * for up to 30 nodes including masters, and 16 GiB for up to 60.
 */
const masterFor = (nodes: number): string => (nodes + MASTERS <= 30 ? 'm7g.large.search' : 'm7g.xlarge.search')
const MASTERS = 3
/**
 * Returns the number of replicas. With standby, each of the two other zones has one replica. Without standby, there is
 * one replica if the domain has a second node.
 */
const copiesFor = (nodes: number, standby: boolean): number => (standby ? 2 : Math.min(nodes - 1, 1))

/** A managed OpenSearch domain. Requests are signed, and each role may use only its own paths and methods. */
export class SearchDomain extends Construct implements HistorySearch {
  readonly kind = 'domain'
  readonly endpoint: string
  readonly searchName: string
  readonly copies: number
  readonly #arn: string
  readonly #size: { readonly nodes: number; readonly volume: number }

  constructor(scope: Construct, id: string, props: SearchDomainProps) {
    super(scope, id)
    const { searchName, standby, nodes, encryptionKey, retain = true } = props
    const logs = this.#logs(searchName)
    const domain = new Domain(this, 'Domain', {
      domainName: searchName,
      version: EngineVersion.OPENSEARCH_3_3,
      capacity: {
        dataNodes: nodes,
        dataNodeInstanceType: props.instance,
        multiAzWithStandbyEnabled: standby,
        ...(standby ? { masterNodes: MASTERS, masterNodeInstanceType: masterFor(nodes) } : {}),
      },
      ...(standby ? { zoneAwareness: { enabled: true, availabilityZoneCount: 3 } } : {}),
      ebs: { volumeSize: props.volume, volumeType: EbsDeviceVolumeType.GP3 },
      nodeToNodeEncryption: true,
      encryptionAtRest: { enabled: true, ...(encryptionKey === undefined ? {} : { kmsKey: encryptionKey }) },
      enforceHttps: true,
      tlsSecurityPolicy: TLSSecurityPolicy.TLS_1_2_PFS,
      enableAutoSoftwareUpdate: true,
      // Allows upgrades in place. Otherwise, a newer engine version would require a new domain. AWS could not create
      // the new domain, because its fixed name is still used by the old one.
      enableVersionUpgrade: true,
      logging: {
        slowSearchLogEnabled: true,
        slowSearchLogGroup: logs.search,
        slowIndexLogEnabled: true,
        slowIndexLogGroup: logs.index,
        appLogEnabled: true,
        appLogGroup: logs.domain,
      },
      // `#logs` declares the policy. Without this setting, the CDK would add a function that writes the policy again.
      suppressLogsResourcePolicy: true,
      removalPolicy: retain ? RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE : RemovalPolicy.DESTROY,
    })
    domain.node.addDependency(logs.policy)
    this.endpoint = `https://${domain.domainEndpoint}`
    this.searchName = searchName
    this.#arn = domain.domainArn
    this.copies = copiesFor(nodes, standby)
    this.#size = { nodes, volume: props.volume }
    acknowledge(domain, standby)
  }

  grantSearch(reader: NodeFunction): void {
    this.#allow(reader, 'es:ESHttpPost', ['history/_search'])
  }

  grantIndexing(writer: NodeFunction): void {
    const because = 'Names of indexes, and their own aliases, end in their version and the time when they were made.'
    this.#allow(writer, 'es:ESHttpGet', ['_alias/history', '_alias/history-*'], because)
    this.#allow(writer, 'es:ESHttpPut', ['history-v*'], because)
    this.#allow(writer, 'es:ESHttpPost', ['_bulk', '_aliases'])
  }

  alarmRules(): AlarmRule[] {
    return domainRules(this, { name: this.searchName, ...this.#size })
  }

  #allow(grantee: NodeFunction, action: string, paths: readonly string[], because?: string): void {
    const resources = paths.map((path) => `${this.#arn}/${path}`)
    allow(grantee, { actions: [action], resources, ...(because === undefined ? {} : { because }) })
  }

  #logs(searchName: string) {
    const [search, index, domain] = ['SlowSearches', 'SlowIndexing', 'DomainLogs'].map(
      (name) => new LogGroup(this, name, { retention: RetentionDays.ONE_MONTH, removalPolicy: RemovalPolicy.DESTROY }),
    ) as [LogGroup, LogGroup, LogGroup]
    const policy = new ResourcePolicy(this, 'MayLog', {
      resourcePolicyName: `${searchName}-slow-logs`,
      policyStatements: [
        new PolicyStatement({
          effect: Effect.ALLOW,
          principals: [new ServicePrincipal('es.amazonaws.com')],
          actions: ['logs:PutLogEvents', 'logs:CreateLogStream'],
          resources: [search, index, domain].map(({ logGroupArn }) => logGroupArn),
          conditions: { StringEquals: { 'aws:SourceAccount': Stack.of(this).account } },
        }),
      ],
    })
    return { search, index, domain, policy }
  }
}

function acknowledge(domain: Domain, standby: boolean): void {
  const validations = Validations.of(domain)
  validations.acknowledge({
    id: 'AwsSolutions-OS1',
    reason:
      'The functions run outside of any network. Nothing is open: every request is signed, and allowed by a role.',
  })
  validations.acknowledge({
    id: 'AwsSolutions-OS3',
    reason: 'Functions have no addresses of their own to list. Roles are granted paths and verbs instead.',
  })
  validations.acknowledge({
    id: 'AwsSolutions-OS5',
    reason:
      'The domain has no policy of its own, so unsigned requests are refused: only the policies of roles allow any.',
  })
  if (standby) return
  validations.acknowledge({
    id: 'AwsSolutions-OS4',
    reason:
      'A small domain; with `standby` it has master nodes of its own. The index can always be built again from the log.',
  })
  validations.acknowledge({
    id: 'AwsSolutions-OS7',
    reason: 'A small domain; with `standby` it spans three zones. The index can always be built again from the log.',
  })
}
