/**
 * Whether an event passes a filter pattern of Lambda or EventBridge. For each key of the pattern, the event must have a
 * value that equals one of the pattern's values or satisfies one of its rules. DynamoDB's numbers are texts, so `numeric`
 * never matches them. Throws for an unknown rule.
 */
export function matchesPattern(pattern: unknown, event: unknown): boolean {
  if (!isObject(pattern)) throw new Error(`not a pattern: ${JSON.stringify(pattern)}`)
  return Object.entries(pattern).every(([key, wanted]) => {
    if (key === '$or') return listOf(wanted).some((branch) => matchesPattern(branch, event))
    const value = isObject(event) ? event[key] : undefined
    return Array.isArray(wanted) ? matchesSome(wanted, value) : matchesPattern(wanted, value)
  })
}

function matchesSome(rules: readonly unknown[], value: unknown): boolean {
  const values: readonly unknown[] = Array.isArray(value) ? value : [value]
  return rules.some((rule) => values.some((one) => matchesRule(rule, one)))
}

function matchesRule(rule: unknown, value: unknown): boolean {
  if (!isObject(rule)) return value === rule
  const entries = Object.entries(rule)
  const [kind, argument] = entries[0] ?? []
  if (entries.length !== 1 || kind === undefined) throw new Error(`not a rule: ${JSON.stringify(rule)}`)
  if (kind === 'exists') return (value !== undefined && !isObject(value)) === argument
  if (value === undefined) return false
  if (kind === 'anything-but') {
    const refused: readonly unknown[] = Array.isArray(argument) ? argument : [argument]
    return !refused.some((one) => matchesRule(one, value))
  }
  if (kind === 'numeric') return typeof value === 'number' && inRange(listOf(argument), value)
  if (typeof value !== 'string') return false
  if (kind === 'prefix') return value.startsWith(String(argument))
  if (kind === 'suffix') return value.endsWith(String(argument))
  if (kind === 'equals-ignore-case') return value.toLowerCase() === String(argument).toLowerCase()
  throw new Error(`unknown rule: ${kind}`)
}

const COMPARISONS: Readonly<Record<string, (value: number, bound: number) => boolean>> = {
  '=': (value, bound) => value === bound,
  '<': (value, bound) => value < bound,
  '<=': (value, bound) => value <= bound,
  '>': (value, bound) => value > bound,
  '>=': (value, bound) => value >= bound,
}

function inRange(range: readonly unknown[], value: number): boolean {
  for (let at = 0; at < range.length; at += 2) {
    const compare = COMPARISONS[String(range[at])]
    if (compare === undefined) throw new Error(`unknown comparison: ${String(range[at])}`)
    if (!compare(value, Number(range[at + 1]))) return false
  }
  return true
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
function listOf(value: unknown): readonly unknown[] {
  if (!Array.isArray(value)) throw new Error(`not a list: ${JSON.stringify(value)}`)
  return value
}
