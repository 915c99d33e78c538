import { Annotations, CfnOutput, Stack } from 'aws-cdk-lib'
import type { StackProps } from 'aws-cdk-lib'
import { Key } from 'aws-cdk-lib/aws-kms'
import type { Construct } from 'constructs'
import { createHistorySearch } from './constructs/search/create-history-search.ts'
import type { HistorySearch } from './constructs/search/history-search.ts'
import type { Environment } from './environments.ts'
import { NO_KEY } from './fixed-settings.ts'

/** The stack with the history index, which can always be rebuilt from the log. */
export class SearchStack extends Stack {
  readonly search: HistorySearch

  constructor(
    scope: Construct,
    id: string,
    { environment, ...props }: StackProps & { readonly environment: Environment },
  ) {
    super(scope, id, props)
    const { name, search, retain, operators } = environment
    const encryptionKey =
      environment.encryptionKey === undefined ? undefined : Key.fromKeyArn(this, 'Key', environment.encryptionKey)
    this.search = createHistorySearch(this, 'Search', {
      search,
      searchName: `tooltrail-${name}`,
      retain,
      operators,
      encryptionKey,
      collectionEndpoint: environment.vpc?.collectionEndpoint,
    })
    if (search.kind === 'serverless' && operators.length === 0)
      Annotations.of(this).addInfoV2(
        'tooltrail:operators',
        'no role may rebuild, redrive or count the index. Name roles in `operators`, or deploy with -c operator=<ARN of your role>, before you need them: docs/operations/README.md, "Operators"',
      )
    // `npm run deploy` compares these outputs with the settings (`lib/fixed-settings.ts`).
    new CfnOutput(this, 'EncryptionKey', { value: environment.encryptionKey ?? NO_KEY })
    new CfnOutput(this, 'SearchEndpoint', { value: this.search.endpoint })
    new CfnOutput(this, 'SearchKind', { value: this.search.kind })
    if (this.search.copies !== undefined) new CfnOutput(this, 'SearchCopies', { value: String(this.search.copies) })
    new CfnOutput(this, 'SearchName', { value: this.search.searchName })
  }
}
