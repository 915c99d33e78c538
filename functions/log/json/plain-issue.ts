import type * as z from 'zod'

const KINDS: Readonly<Record<string, string>> = {
  string: 'a string',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  array: 'a list',
  object: 'an object',
  record: 'an object',
}

/** The unit of the length, for each type of value that has a length. */
const UNITS: Readonly<Record<string, string>> = { string: 'characters', array: 'entries', map: 'entries' }

/** Describes what a value must be, in plain words; undefined if only the value's schema can describe that. */
export function plainIssue(issue: z.core.$ZodRawIssue | z.core.$ZodIssue): string | undefined {
  switch (issue.code) {
    case 'invalid_type':
      return `must be ${KINDS[issue.expected] ?? issue.expected}`
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

const listOf = (items: readonly string[]): string =>
  items.length < 2 ? items.join('') : `${items.slice(0, -1).join(', ')} or ${items.at(-1)}`
