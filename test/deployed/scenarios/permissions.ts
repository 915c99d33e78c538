import { expect, test } from 'vitest'
import { EXPLAINED, EXPLAINED_WHERE_GRANTED } from '../explained-grants.ts'
import { allGrants, grantsOf, missingGrants, unusedGrants } from '../cloud/template/policies.ts'
import type { Grant } from '../cloud/template/policies.ts'
import type { FunctionName, System } from '../system.ts'

/** Compares the permissions of the functions with all their calls so far in this suite. */
export function declarePermissions(system: () => System): void {
  test.each(['Api', 'Worker', 'Indexer', 'Sweeper'] as const)('%s has a grant for every call that it made', (name) => {
    const { deployment, functions } = system()
    expect(missingGrants(deployment.names, grants(system(), name), functions[name].calls)).toStrictEqual([])
  })

  test.each(['Api', 'Worker', 'Indexer', 'Sweeper'] as const)(
    '%s has no grant without a call, except explained ones',
    (name) => {
      const { deployment, functions } = system()
      const unused = unusedGrants(deployment.names, grants(system(), name), functions[name].calls)
      const explained = (one: string): boolean =>
        one in EXPLAINED[name] || EXPLAINED_WHERE_GRANTED.some(([grant]) => grant.test(one))
      expect(unused.filter((one) => !explained(one))).toStrictEqual([])
    },
  )

  test.each(['Api', 'Worker', 'Indexer', 'Sweeper'] as const)('%s has every grant that is explained', (name) => {
    const granted = allGrants(system().deployment.names, grants(system(), name))
    expect(Object.keys(EXPLAINED[name]).filter((one) => !granted.includes(one))).toStrictEqual([])
  })

  test('no action is granted with a wildcard', () => {
    const all = Object.keys(system().functions).flatMap((name) => grants(system(), name as FunctionName))
    expect(all.filter(({ action }) => action.includes('*'))).toStrictEqual([])
  })
}

const grants = ({ deployment, functions }: System, name: FunctionName): readonly Grant[] =>
  grantsOf(deployment.names, deployment.roleOf(functions[name].settings.name))
