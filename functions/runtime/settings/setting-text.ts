import * as z from 'zod'
import { plainIssue } from '../../log/json/plain-issue.ts'

/** Schema of a setting that names another program's address. */
export const httpAddress = z.url({
  protocol: /^https?$/,
  error: 'must be an http or https address, such as http://127.0.0.1:8080',
})

/**
 * Describes the required form of a setting in plain words, if its schema has no description. Parsers get this function
 * as their option `error`; undefined keeps the parser's own message.
 */
export function settingText(issue: z.core.$ZodRawIssue): string | undefined {
  const issueText = plainIssue(issue)
  return issue.code === 'invalid_type' && issue.input === undefined ? `is missing: it ${issueText}` : issueText
}

/** Returns a fault with its path. For a fault of the whole value, the path is omitted. */
export const faultText = (path: readonly PropertyKey[], fault: string): string =>
  path.length === 0 ? fault : `${path.join('.')}: ${fault}`

/** Adds a prefix to every line of a text. */
export const beforeEachLine = (beginning: string, text: string): string => text.replaceAll(/^/gm, () => beginning)

/** Returns the reason of a fault. For an invalid key of an object, the reason is nested in the issue. */
export const reasonOf = (issue: z.core.$ZodIssue): string =>
  issue.code === 'invalid_key' ? (issue.issues[0]?.message ?? issue.message) : issue.message

/** Returns the fault of a variable with its name. Indexes of list entries are omitted. */
export function variableFault(issue: z.core.$ZodIssue): string {
  const [name, ...rest] = issue.path.filter((key) => typeof key !== 'number')
  return faultText(name === undefined ? [] : [name], faultText(rest, reasonOf(issue)))
}
