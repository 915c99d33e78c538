import type { ZodError } from 'zod'
import { plainIssue } from './json/plain-issue.ts'

type Issue = ZodError['issues'][number]

/** A fault of a value: its path and a message. */
export interface Fault {
  readonly path: readonly PropertyKey[]
  readonly message: string
}

/**
 * Matches the messages of zod, which name zod's types. Such messages are replaced by plain ones. Messages of our own
 * schemas are kept.
 */
const ZODS_WORDS = /^(?:Invalid|Too|Unrecognized) /

/**
 * Returns at most `most` faults of a value, in plain words. For a union, returns the faults of the nearest alternative.
 */
export const faultsOf = (issues: readonly Issue[], most: number): Fault[] =>
  issues
    .flatMap((issue) => nearestIssues(issue))
    .flatMap(eachFault)
    .slice(0, most)

function eachFault(issue: Issue): Fault[] {
  const { path, message } = issue
  if (issue.code === 'unrecognized_keys')
    return issue.keys.map((key) => ({ path: [...path, key], message: 'is not a known field' }))
  if (message.endsWith('received undefined')) return [{ path, message: 'is missing' }]
  return [{ path, message: ZODS_WORDS.test(message) ? (plainIssue(issue) ?? message) : message }]
}

function nearestIssues(issue: Issue): Issue[] {
  if (issue.code !== 'invalid_union' || issue.errors.length === 0) return [issue]
  const nearest = nearestBranch(issue.errors)
  if (nearest === undefined) return [issue]
  return nearest.flatMap((inner) => nearestIssues({ ...inner, path: [...issue.path, ...inner.path] } as Issue))
}

/**
 * Returns the alternative of a union that allows the value's type and has the fewest issues. Undefined if there is none, or if
 * several have equally few.
 */
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
