import type { IKey } from 'aws-cdk-lib/aws-kms'
import type { AlarmRule } from '../monitoring/alarm-rule.ts'
import type { NodeFunction } from '../functions/node-function.ts'

/** Where the history index is, and the rights to it. */
export interface HistorySearch {
  readonly kind: 'serverless' | 'domain'
  /** With `https://`. */
  readonly endpoint: string
  /** Of the collection or the domain. */
  readonly searchName: string
  /**
   * Copies of the index beside the first.
   * @default - AWS looks after them
   */
  readonly copies?: number
  /** Grants searching, and no writes. */
  grantSearch(reader: NodeFunction): void
  /** Grants keeping the index up to date: creating it and writing documents. */
  grantIndexing(writer: NodeFunction): void
  /** Alarms about its health. */
  alarmRules(): AlarmRule[]
}

export type SearchSettings =
  | {
      readonly kind: 'serverless'
      /** Most capacity units for indexing and for searching, each: 2, 4, 8, 16, or a multiple of 16. */
      readonly maxCapacity: number
    }
  | {
      readonly kind: 'domain'
      readonly instance: string
      readonly nodes: number
      /** GiB of each node. */
      readonly volume: number
      /** Three zones, one of them on standby, with master nodes of their own. */
      readonly standby: boolean
    }

export interface HistorySearchProps {
  /** Unique in the account and region: 3 to 22 lower case letters, digits and dashes. */
  readonly searchName: string
  /**
   * Keeps the index when the stack is deleted. It can always be built again from the log.
   * @default true
   */
  readonly retain?: boolean
  /** @default - a key of AWS, without cost */
  readonly encryptionKey?: IKey | undefined
  /**
   * ARNs of roles that may rebuild a serverless collection's index; a domain's are granted this by their own policies.
   * @default - nobody
   */
  readonly operators?: readonly string[]
  /**
   * Id of an endpoint of OpenSearch Serverless, through which alone a collection is reached.
   * @default - it is reached over the internet, by signed requests
   */
  readonly collectionEndpoint?: string | undefined
}
