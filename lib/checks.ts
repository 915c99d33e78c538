import { Validations } from 'aws-cdk-lib'
import { AwsSolutionsChecks } from 'cdk-nag'
import type { IApplyRule } from 'cdk-nag'
import type { IConstruct } from 'constructs'

/** Replaces the part of a resource's name that is known only at deployment. */
const UNKNOWN = '…'
const WILDCARD = 'AwsSolutions-IAM5'

/**
 * Returns the id of the finding about a resource with a `*`. The finding is acknowledged by this id. The id contains
 * the part of the resource's name after the last token.
 */
export const wildcardId = (resource: string): string =>
  `${WILDCARD}[Resource::${resource.replace(/^.*\$\{Token\[[^\]]*\]\}/, UNKNOWN)}]`

/**
 * The rules of AwsSolutions. The id of a finding about a resource with a `*` contains only the end of the resource's
 * name. The beginning is still unknown: it is an output of another stack, and is written into the template later.
 */
export class HouseChecks extends AwsSolutionsChecks {
  protected override applyRule(params: IApplyRule): void {
    const suffix = params.ruleSuffixOverride ?? params.rule.name
    super.applyRule({
      ...params,
      ruleSuffixOverride: suffix,
      rule(node) {
        const result = params.rule(node)
        if (!Array.isArray(result) || !WILDCARD.endsWith(suffix)) return result
        const endings = acknowledgedEndings(node)
        return result.filter((finding) => !endings.some((ending) => finding.endsWith(ending)))
      },
    })
  }
}

function acknowledgedEndings(node: IConstruct): string[] {
  const prefix = `${WILDCARD}[Resource::${UNKNOWN}`
  return node.node.scopes
    .flatMap((scope) => scope.node.metadata)
    .filter(({ type }) => type === Validations.ACKNOWLEDGED_RULES_METADATA_KEY)
    .flatMap(({ data }) => Object.keys(data as object))
    .flatMap((id) => {
      const at = id.indexOf(prefix)
      return at === -1 ? [] : [id.slice(at + prefix.length, -1)]
    })
}
