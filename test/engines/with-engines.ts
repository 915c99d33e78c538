import { inject, test } from 'vitest'
import type { NeedName } from './engines.ts'
import type {} from './global-setup.ts'

/** Declares tests that need these engines, with their endpoints. If an engine is unavailable, the tests are skipped. */
export function withEngines<Name extends NeedName>(
  names: readonly Name[],
  declare: (endpoints: { readonly [name in Name]: string }) => void,
): void {
  const endpoints = inject('endpoints')
  if (hasAll(endpoints, names)) declare(endpoints)
  else test.skip(`needs ${names.join(', ')}`, () => {})
}

function hasAll<Name extends NeedName>(
  endpoints: { readonly [name in NeedName]?: string },
  names: readonly Name[],
): endpoints is { readonly [name in Name]: string } {
  return names.every((name) => endpoints[name] !== undefined)
}
