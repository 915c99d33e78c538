import * as z from 'zod'
import { plainIssue } from '../../log/json/plain-issue.ts'

/** Where a program is that a setting names. */
export const httpAddress = z.url({
  protocol: /^https?$/,
  error: 'must be an http or https address, such as http://127.0.0.1:8080',
})

/**
 * Says in the words of this project what a setting must be, where its schema does not. Given to a parser as its `error`; undefined
 * leaves the parser its own words.
 */
export function settingText(issue: z.core.$ZodRawIssue): string | undefined {
  const issueText = plainIssue(issue)
  return issue.code === 'invalid_type' && issue.input === undefined ? `is missing: it ${issueText}` : issueText
}

/** Where something is wrong, and what. The path is left out where it is the whole. */
export const faultText = (path: readonly PropertyKey[], fault: string): string =>
  path.length === 0 ? fault : `${path.join('.')}: ${fault}`

/** The same said before each line of several. */
export const beforeEachLine = (beginning: string, text: string): string => text.replaceAll(/^/gm, () => beginning)

/** The name of an entry that is wrong has a reason of its own. */
export const reasonOf = (issue: z.core.$ZodIssue): string =>
  issue.code === 'invalid_key' ? (issue.issues[0]?.message ?? issue.message) : issue.message

/** What is wrong with a variable. The entries of one that is a list have no numbers. */
export function variableFault(issue: z.core.$ZodIssue): string {
  const [name, ...rest] = issue.path.filter((key) => typeof key !== 'number')
  return faultText(name === undefined ? [] : [name], faultText(rest, reasonOf(issue)))
}
