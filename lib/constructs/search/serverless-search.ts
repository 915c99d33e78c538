import { RemovalPolicy } from 'aws-cdk-lib'
import {
  CfnAccessPolicy,
  CfnCollection,
  CfnCollectionGroup,
  CfnSecurityPolicy,
} from 'aws-cdk-lib/aws-opensearchserverless'
import { Construct } from 'constructs'
import type { AlarmRule } from '../monitoring/alarm-rule.ts'
import { allow } from '../allow.ts'
import type { HistorySearch, HistorySearchProps } from './history-search.ts'
import type { NodeFunction } from '../functions/node-function.ts'
import { serverlessRules } from '../monitoring/search-alarms.ts'

export interface ServerlessSearchProps extends HistorySearchProps {
  readonly maxCapacity: number
}

/** Matches all our indexes, and the two aliases (`functions/adapters/opensearch/history-aliases.ts`). */
const INDEXES = 'history*'
/**
 * A collection group that scales to zero must have standby replicas, and its collections must have the same setting.
 * AWS rejects anything else.
 */
const STANDBY_REPLICAS = 'ENABLED'

/** An OpenSearch Serverless collection that scales to zero. The first request after a pause takes 10 to 30 s. */
export class ServerlessSearch extends Construct implements HistorySearch {
  readonly kind = 'serverless'
  readonly endpoint: string
  readonly searchName: string
  readonly #collection: CfnCollection
  readonly #group: { readonly id: string; readonly name: string; readonly maxCapacity: number }

  constructor(scope: Construct, id: string, props: ServerlessSearchProps) {
    super(scope, id)
    const { searchName: name, encryptionKey, operators = [], retain = true } = props
    const group = new CfnCollectionGroup(this, 'Group', {
      name,
      generation: 'NEXTGEN',
      standbyReplicas: STANDBY_REPLICAS,
      capacityLimits: {
        minIndexingCapacityInOcu: 0,
        minSearchCapacityInOcu: 0,
        maxIndexingCapacityInOcu: props.maxCapacity,
        maxSearchCapacityInOcu: props.maxCapacity,
      },
    })
    const rules = [{ ResourceType: 'collection', Resource: [`collection/${name}`] }]
    const encryption = new CfnSecurityPolicy(this, 'Encryption', {
      name,
      type: 'encryption',
      policy: JSON.stringify({
        Rules: rules,
        ...(encryptionKey === undefined ? { AWSOwnedKey: true } : { KmsARN: encryptionKey.keyArn }),
      }),
    })
    // Signatures and the policies below decide about access, independently of the origin of a request.
    const { collectionEndpoint } = props
    const from =
      collectionEndpoint === undefined
        ? { AllowFromPublic: true }
        : { AllowFromPublic: false, SourceVPCEs: [collectionEndpoint] }
    const network = new CfnSecurityPolicy(this, 'Network', {
      name,
      type: 'network',
      policy: JSON.stringify([{ Rules: rules, ...from }]),
    })
    this.#collection = new CfnCollection(this, 'Collection', {
      name,
      type: 'SEARCH',
      standbyReplicas: STANDBY_REPLICAS,
      collectionGroupName: group.name,
      deletionProtection: retain ? 'ENABLED' : 'DISABLED',
    })
    for (const first of [group, encryption, network]) this.#collection.addResourceDependency(first)
    if (retain)
      for (const kept of [group, encryption, network, this.#collection])
        kept.applyRemovalPolicy(RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE)
    this.endpoint = this.#collection.attrCollectionEndpoint
    this.searchName = name
    this.#group = { id: group.attrId, name, maxCapacity: props.maxCapacity }
    if (operators.length > 0) this.#allow(this, 'operators', operators, OPERATING)
  }

  grantSearch(reader: NodeFunction): void {
    this.#admit(reader, SEARCHING)
  }

  grantIndexing(writer: NodeFunction): void {
    this.#admit(writer, INDEXING)
  }

  alarmRules(): AlarmRule[] {
    return serverlessRules(this, this.#group)
  }

  /** Lets the role connect to the collection. The collection's own policy grants the specific rights. */
  #admit(grantee: NodeFunction, rights: Rights): void {
    allow(grantee, { actions: ['aoss:APIAccessAll'], resources: [this.#collection.attrArn] })
    this.#allow(grantee, grantee.node.id.toLowerCase(), [grantee.role.roleArn], rights)
  }

  #allow(scope: Construct, suffix: string, principals: readonly string[], rights: Rights): void {
    const { searchName } = this
    const Rules = [
      { ResourceType: 'index', Resource: [`index/${searchName}/${INDEXES}`], Permission: rights.index },
      ...(rights.collection.length === 0
        ? []
        : [{ ResourceType: 'collection', Resource: [`collection/${searchName}`], Permission: rights.collection }]),
    ]
    new CfnAccessPolicy(scope, 'HistoryAccess', {
      name: `${searchName}-${suffix}`,
      type: 'data',
      policy: this.#toJson([{ Rules, Principal: principals }]),
    })
  }

  /** Converts a policy to JSON at deployment, because the ARNs of roles are unknown before. */
  #toJson(policy: object): string {
    return this.#collection.stack.toJsonString(policy)
  }
}

interface Rights {
  readonly index: readonly string[]
  /** Rights to the collection itself. They include the rights to aliases, because aliases belong to the collection. */
  readonly collection: readonly string[]
}

const SEARCHING: Rights = { index: ['aoss:ReadDocument'], collection: [] }
const INDEXING: Rights = {
  index: ['aoss:CreateIndex', 'aoss:WriteDocument'],
  collection: ['aoss:CreateCollectionItems', 'aoss:DescribeCollectionItems', 'aoss:UpdateCollectionItems'],
}
/** Rights of operators to rebuild, redrive and count: they read documents and remove unused indexes. */
const OPERATING: Rights = {
  index: [...SEARCHING.index, ...INDEXING.index, 'aoss:DescribeIndex', 'aoss:DeleteIndex'],
  collection: [...INDEXING.collection, 'aoss:DeleteCollectionItems'],
}
