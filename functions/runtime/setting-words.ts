import * as z from 'zod'

/** Where a program is that a setting names. */
export const httpAddress = z.url({
  protocol: /^https?$/,
  error: 'must be an http or https address, such as http://127.0.0.1:8080',
})

const KINDS: Readonly<Record<string, string>> = {
  string: 'a text',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  array: 'a list',
  object: 'an object',
  record: 'an object',
}

/** What a value counts in, where it has a length. */
const UNITS: Readonly<Record<string, string>> = { string: 'characters', array: 'entries', map: 'entries' }

/**
 * Says in the words of this project what a setting must be, where its schema does not. Given to a parser as its `error`; undefined
 * leaves the parser its own words.
 */
export function settingWords(issue: z.core.$ZodRawIssue): string | undefined {
  switch (issue.code) {
    case 'invalid_type': {
      const wanted = `must be ${KINDS[issue.expected] ?? issue.expected}`
      return issue.input === undefined ? `is missing: it ${wanted}` : wanted
    }
    case 'invalid_value':
      return `must be ${listOf(issue.values.map((value) => JSON.stringify(value)))}`
    case 'too_small':
      if (issue.origin in UNITS && Number(issue.minimum) === 1) return 'must not be empty'
      return `must ${bound(issue.origin, issue.minimum, issue.inclusive === false ? 'above' : 'at least')}`
    case 'too_big':
      return `must ${bound(issue.origin, issue.maximum, issue.inclusive === false ? 'below' : 'at most')}`
    case 'unrecognized_keys':
      return `there is no field ${issue.keys.map((key) => JSON.stringify(key)).join(', ')}`
    default:
      return undefined
  }
}

function bound(origin: string, limit: number | bigint, relation: string): string {
  const unit = UNITS[origin]
  return unit === undefined ? `be ${relation} ${limit}` : `have ${relation} ${limit} ${unit}`
}

const listOf = (words: readonly string[]): string =>
  words.length < 2 ? words.join('') : `${words.slice(0, -1).join(', ')} or ${words.at(-1)}`

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
