import { readFileSync } from 'node:fs'
import { isDeepStrictEqual } from 'node:util'
import type { Resource, Synthesised } from '../synthesise.ts'

const { types } = JSON.parse(readFileSync(new URL('properties.json', import.meta.url), 'utf8')) as {
  readonly types: Readonly<Record<string, readonly string[]>>
}

/** Resource types of the snapshot. */
export const KNOWN_TYPES: ReadonlySet<string> = new Set(Object.keys(types))

/** A resource that an update replaces. */
export interface Replacement {
  /** `stack/logical id`. */
  readonly id: string
  readonly type: string
  /** Create-only properties whose value changes. */
  readonly because: readonly string[]
  /** Whether the replacement has the same name, so that it cannot be created beside the old resource. */
  readonly hasFixedName: boolean
}

/** Returns the resources that an update replaces, and the new resources whose name an old resource still has. */
export function replacementsBetween(before: Synthesised, after: Synthesised): Replacement[] {
  const replaced = Object.entries(after.resources).flatMap(([id, resource]): Replacement[] => {
    const old = before.resources[id]
    if (old === undefined || old.Type !== resource.Type) return []
    const because = (types[resource.Type] ?? []).filter(
      (path) => !isDeepStrictEqual(valueAt(old, path), valueAt(resource, path)),
    )
    if (because.length === 0) return []
    const name = fixedName(resource)
    return [{ id, type: resource.Type, because, hasFixedName: name !== undefined && name === fixedName(old) }]
  })
  const owners = new Map(namesOf(before))
  const renamed = namesOf(after).flatMap(([name, id]): Replacement[] => {
    const owner = owners.get(name)
    if (owner === undefined || owner === id) return []
    return [{ id, type: name.split(' ')[0] ?? '', because: ['logical id'], hasFixedName: true }]
  })
  return [...replaced, ...renamed]
}

const namesOf = ({ resources }: Synthesised): [string, string][] =>
  Object.entries(resources).flatMap(([id, resource]) => {
    const name = fixedName(resource)
    return name === undefined ? [] : [[`${resource.Type} ${name}`, id]]
  })

/**
 * Returns the resource's own name and its `Type` property, if the template sets the name. Two policies of a collection may
 * have equal names if their types differ.
 */
function fixedName({ Type, Properties }: Resource): string | undefined {
  const own = (types[Type] ?? []).find((path) => OWN_NAME.test(path) && !OTHERS_NAMES.has(`${Type} ${path}`))
  const name = own === undefined ? undefined : Properties?.[own]
  return name === undefined ? undefined : JSON.stringify([name, Properties['Type'] ?? null])
}

const OWN_NAME = /^[A-Z]\w*Name$|^Name$/
/** Properties that name another resource. */
const OTHERS_NAMES = new Set([
  'AWS::ApiGateway::BasePathMapping DomainName',
  'AWS::CodeDeploy::DeploymentGroup ApplicationName',
  'AWS::Lambda::Alias FunctionName',
  'AWS::Lambda::EventInvokeConfig FunctionName',
  'AWS::Lambda::Permission FunctionName',
  'AWS::Lambda::Version FunctionName',
  'AWS::Route53::RecordSet HostedZoneName',
  'AWS::Lambda::Alias Name', // unique within its function
])

function valueAt({ Properties }: Resource, path: string): unknown {
  return path.split('/').reduce<unknown>((value, key) => {
    if (typeof value !== 'object' || value === null) return undefined
    return (value as Record<string, unknown>)[key]
  }, Properties)
}
