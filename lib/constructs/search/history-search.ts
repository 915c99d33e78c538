import type { IKey } from 'aws-cdk-lib/aws-kms'
import type { AlarmRule } from '../monitoring/alarm-rule.ts'
import type { NodeFunction } from '../functions/node-function.ts'

/** The location of the history index, and the rights to it. */
export interface HistorySearch {
  readonly kind: 'serverless' | 'domain'
  /** Including `https://`. */
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
  /** Returns the alarms for its health. */
  alarmRules(): AlarmRule[]
}

export type SearchSettings =
  | {
      readonly kind: 'serverless'
      /** Maximum capacity units, separately for indexing and for searching: 2, 4, 8, 16, or a multiple of 16. */
      readonly maxCapacity: number
    }
  | {
      readonly kind: 'domain'
      readonly instance: string
      readonly nodes: number
      /** Disk of each node, in GiB. */
      readonly volume: number
      /** Whether the domain has three zones, one of them on standby, and separate master nodes. */
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
   * ARNs of roles that may rebuild a serverless collection's index. For a domain, roles get this right by their own
   * policies.
   * @default - none
   */
  readonly operators?: readonly string[]
  /**
   * Id of an OpenSearch Serverless endpoint that is the only way to a collection.
   * @default - the collection is reachable over the internet, by signed requests
   */
  readonly collectionEndpoint?: string | undefined
}
