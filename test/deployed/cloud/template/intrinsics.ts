import type { Template } from './assembly.ts'

/** Scope for resolving a template's values: the names of existing resources. */
export interface Names {
  readonly stacks: ReadonlyMap<string, Template>
  readonly account: string
  readonly region: string
  /** Value of `Ref` of a resource. */
  ref(stack: string, id: string): string
  /** Value of `Fn::GetAtt`. Undefined if the resource has no such attribute. */
  attribute(stack: string, id: string, name: string): string | undefined
}

/** A position in a template, for messages: the stack and the keys below it. */
interface Place {
  readonly names: Names
  readonly stack: string
  readonly path: string
}

type Intrinsic = (argument: unknown, place: Place) => unknown

/** Value of `AWS::NoValue`. A property with this value is omitted. */
const NO_VALUE = Symbol('AWS::NoValue')

const FUNCTIONS: Readonly<Record<string, Intrinsic>> = {
  Ref: (argument, place) => reference(textOf(argument, place), place),
  'Fn::GetAtt': (argument, place) => {
    const parts = typeof argument === 'string' ? argument.split('.') : listOf(argument, place)
    return attribute(textOf(parts[0], place), parts.slice(1).join('.'), place)
  },
  'Fn::Join': (argument, place) => {
    const [separator, parts] = listOf(argument, place)
    return (within(parts, place) as unknown[]).map(asText(place)).join(textOf(separator, place))
  },
  'Fn::Sub': (argument, place) => {
    const [text, variables = {}] = typeof argument === 'string' ? [argument] : listOf(argument, place)
    const given = within(variables, place) as Record<string, unknown>
    return textOf(text, place).replace(/\$\{([^!}][^}]*)\}/g, (_, name: string) => {
      if (name in given) return asText(place)(given[name])
      const [id = '', ...rest] = name.split('.')
      return rest.length > 0 ? attribute(id, rest.join('.'), place) : asText(place)(reference(name, place))
    })
  },
  'Fn::Select': (argument, place) => {
    const [index, items] = listOf(argument, place)
    return at(within(items, place) as unknown[], Number(index), place)
  },
  'Fn::Split': (argument, place) => {
    const [separator, text] = listOf(argument, place)
    return asText(place)(within(text, place)).split(textOf(separator, place))
  },
  'Fn::FindInMap': (argument, place) => {
    const [map, first, second] = (within(argument, place) as unknown[]).map(asText(place))
    const { Mappings } = template(place)
    return known(Mappings[map ?? '']?.[first ?? '']?.[second ?? ''], place, `no mapping ${map}.${first}.${second}`)
  },
  'Fn::If': (argument, place) => {
    const [name, yes, no] = listOf(argument, place)
    const { Conditions } = template(place)
    return within(within(Conditions[textOf(name, place)], place) === true ? yes : no, place)
  },
  'Fn::Equals': (argument, place) => {
    const [left, right] = within(argument, place) as unknown[]
    return left === right
  },
  'Fn::ImportValue': (argument, place) => {
    const name = within(argument, place)
    for (const [stack, { Outputs }] of place.names.stacks)
      for (const [id, output] of Object.entries(Outputs)) {
        const path = `${stack}.Outputs.${id}`
        const exported = (output.Export as { Name?: unknown } | undefined)?.Name
        if (exported !== undefined && resolve(place.names, stack, exported, path) === name)
          return resolve(place.names, stack, output.Value, path)
      }
    return unknown(place, `no stack exports ${String(name)}`)
  },
  'Fn::GetStackOutput': (argument, place) => {
    const { StackName, OutputName } = within(argument, place) as { StackName?: string; OutputName?: string }
    const output = place.names.stacks.get(StackName ?? '')?.Outputs[OutputName ?? '']
    const found = known(output, place, `no output ${OutputName} of ${StackName}`)
    return resolve(place.names, StackName ?? '', found.Value, `${StackName}.Outputs.${OutputName}`)
  },
}

/** Resolves a value as CloudFormation does. Throws with the position of anything unknown. */
export function resolve(names: Names, stack: string, value: unknown, path: string): unknown {
  const resolved = within(value, { names, stack, path: path.startsWith(stack) ? path : `${stack}.${path}` })
  return resolved === NO_VALUE ? undefined : resolved
}

function within(value: unknown, place: Place): unknown {
  if (Array.isArray(value))
    return value.map((item, index) => within(item, below(place, index))).filter((item) => item !== NO_VALUE)
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value)
  const [first] = entries
  if (entries.length === 1 && first !== undefined && /^(Ref|Condition|Fn::.+)$/.test(first[0])) {
    const intrinsic = FUNCTIONS[first[0]]
    if (intrinsic !== undefined) return intrinsic(first[1], below(place, first[0]))
    // A `Condition` whose value is not a text is a block of a policy, not a function.
    if (first[0] !== 'Condition' || typeof first[1] === 'string') return unknown(place, `${first[0]} is not known here`)
  }
  const resolved = entries.map(([key, item]): [string, unknown] => [key, within(item, below(place, key))])
  return Object.fromEntries(resolved.filter(([, item]) => item !== NO_VALUE))
}

function reference(id: string, place: Place): unknown {
  const { names, stack } = place
  const pseudo: Readonly<Record<string, unknown>> = {
    'AWS::AccountId': names.account,
    'AWS::Region': names.region,
    'AWS::Partition': 'aws',
    'AWS::URLSuffix': 'amazonaws.com',
    'AWS::StackName': stack,
    'AWS::StackId': `arn:aws:cloudformation:${names.region}:${names.account}:stack/${stack}/1`,
    'AWS::NoValue': NO_VALUE,
  }
  if (id in pseudo) return pseudo[id]
  const { Resources, Parameters } = template(place)
  if (id in Resources) return names.ref(stack, id)
  return known(Parameters[id]?.Default, place, `neither a resource nor a parameter with a default: ${id}`)
}

function attribute(id: string, name: string, place: Place): string {
  return known(place.names.attribute(place.stack, id, name), place, `${id} has no attribute ${name} here`)
}

const template = (place: Place): Template => known(place.names.stacks.get(place.stack), place, 'no such stack')
const below = (place: Place, key: string | number): Place => ({ ...place, path: `${place.path}.${key}` })

function known<Value>(value: Value | undefined, place: Place, problem: string): Value {
  return value === undefined ? unknown(place, problem) : value
}
function unknown(place: Place, problem: string): never {
  throw new Error(`${place.path}: ${problem}`)
}
function textOf(value: unknown, place: Place): string {
  return typeof value === 'string' ? value : unknown(place, `not a text: ${JSON.stringify(value)}`)
}
function listOf(value: unknown, place: Place): readonly unknown[] {
  return Array.isArray(value) ? value : unknown(place, `not a list: ${JSON.stringify(value)}`)
}
const asText =
  (place: Place) =>
  (value: unknown): string =>
    typeof value === 'number' || typeof value === 'boolean' ? String(value) : textOf(value, place)
function at(items: readonly unknown[], index: number, place: Place): unknown {
  return known(items[index], place, `no item ${index}`)
}
