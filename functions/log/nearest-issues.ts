import type { ZodError } from 'zod'

type Issue = ZodError['issues'][number]

/** Something wrong with a value. `keys`: those that it has and may not have. */
export interface FoundIssue {
  readonly path: readonly PropertyKey[]
  readonly message: string
  readonly keys?: readonly string[]
}

/** What is wrong with a value: where it may be of several kinds, what is wrong with it as one of the nearest. */
export function nearestIssues(issue: Issue): FoundIssue[] {
  if (issue.code !== 'invalid_union' || issue.errors.length === 0) return [issue]
  const nearest = nearestBranch(issue.errors)
  if (nearest === undefined) return [issue]
  return nearest.flatMap((inner) => nearestIssues({ ...inner, path: [...issue.path, ...inner.path] } as Issue))
}

/** The branch of the right kind with the fewest issues; undefined if there is none. */
function nearestBranch<Branch extends readonly Pick<Issue, 'code' | 'path'>[]>(
  branches: readonly Branch[],
): Branch | undefined {
  const ofKind = branches.filter(
    (branch) => !branch.some(({ code, path }) => code === 'invalid_type' && path.length === 0),
  )
  const fewest = Math.min(...ofKind.map((branch) => branch.length))
  const nearest = ofKind.filter((branch) => branch.length === fewest)
  return nearest.length === 1 ? nearest[0] : undefined
}
