import type { IKey } from 'aws-cdk-lib/aws-kms'
import type { AlarmRule } from '../monitoring/alarm-rule.ts'
import type { NodeFunction } from '../functions/node-function.ts'

/** The location of the history index, and the rights to it. */
export interface HistorySearch {
  readonly kind: 'serverless' | 'domain'
  /** Address of the index, including `https://`. */
  readonly endpoint: string
  /** Name of the collection or the domain. */
  readonly searchName: string
  /**
   * Number of replicas of the index.
   * @default - managed by AWS
   */
  readonly copies?: number
  /** Grants searching, but not writing. */
  grantSearch(reader: NodeFunction): void
  /** Grants creating the index and writing documents. */
  grantIndexing(writer: NodeFunction): void
  /** Returns the alarms for the health of the index. */
  alarmRules(): AlarmRule[]
}

export type SearchSettings =
  | {
      readonly kind: 'serverless'
      /**
       * Maximum number of capacity units: one limit for indexing and one for searching. Allowed values: 2, 4, 8,
       * and multiples of 16.
       */
      readonly maxCapacity: number
    }
  | {
      readonly kind: 'domain'
      readonly instance: string
      readonly nodes: number
      /** Size of each node's disk, in GiB. */
      readonly volume: number
      /** Whether the domain has three zones, one of which is on standby, and separate master nodes. */
      readonly standby: boolean
    }

export interface HistorySearchProps {
  /** Unique in the account and region: 3 to 22 lower case letters, digits and dashes. */
  readonly searchName: string
  /**
   * Keeps the index when the stack is deleted. It can always be rebuilt from the log.
   * @default true
   */
  readonly retain?: boolean
  /** @default - a key of AWS, without cost */
  readonly encryptionKey?: IKey | undefined
  /**
   * ARNs of roles that may rebuild the index of a serverless collection. For a domain, the roles' own policies grant
   * this right.
   * @default - none
   */
  readonly operators?: readonly string[]
  /**
   * Id of an OpenSearch Serverless endpoint. If set, the collection can be reached only through it.
   * @default - the collection is reachable over the internet, by signed requests
   */
  readonly collectionEndpoint?: string | undefined
}
