import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'

interface Statement {
  readonly Sid: string
  readonly Effect: string
  readonly Action: readonly string[]
  readonly Resource: readonly string[]
}

const policy = JSON.parse(
  readFileSync(new URL('../../../docs/operations/deployer-policy.json', import.meta.url), 'utf8'),
) as { readonly Statement: readonly Statement[] }

test('the policy of deployers has no wildcard action, and only resources of Tooltrail where the service allows it', () => {
  for (const { Sid, Effect, Action, Resource } of policy.Statement) {
    expect(Effect, Sid).toBe('Allow')
    for (const action of Action) expect(action, Sid).toMatch(/^[a-z0-9]+:[A-Za-z]+$/)
    // Exceptions: actions of CloudWatch accept no resource, and the ARN of a collection contains an id instead of a name.
    const open = Resource.filter((resource) => !/(?:tooltrail-|role\/cdk-|TooltrailModelsKeys)/.test(resource))
    expect(open, Sid).toEqual({ SeeMetrics: ['*'], RedriveAndRebuild: ['arn:aws:aoss:*:*:collection/*'] }[Sid] ?? [])
  }
})

test('the pages name only existing statements of the policy', () => {
  const page = readFileSync(new URL('../../../docs/operations/deploy.md', import.meta.url), 'utf8')
  const sids = policy.Statement.map(({ Sid }) => Sid)
  for (const sid of ['Deploy', 'MakeKeys', 'EmptyBuckets']) {
    expect(page).toContain(`\`${sid}\``)
    expect(sids).toContain(sid)
  }
})
