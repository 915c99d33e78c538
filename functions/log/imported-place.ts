import type { JsonObject } from '../domain/json.ts'

/** Metadata names that imports of earlier versions used, with the current names. */
const RENAMED = { cwd: 'folder', git_branch: 'branch', cli_version: 'agent_version' } as const
const PROGRAMS: readonly unknown[] = ['claude-code', 'codex']

/** Adds the current names to the metadata of a session that an earlier version imported. The old names are kept. */
export function withPlaceNames(metadata: JsonObject): JsonObject {
  if (!PROGRAMS.includes(metadata['source'])) return metadata
  const added = Object.entries(RENAMED).flatMap(([before, name]) => {
    const value = metadata[before]
    return value === undefined || metadata[name] !== undefined ? [] : [[name, value] as const]
  })
  return added.length === 0 ? metadata : { ...metadata, ...Object.fromEntries(added) }
}

/** Limit of an agent's name, in characters. */
const MAX_AGENT_CHARS = 128

/** Returns the program that a session was imported from, as an agent's name; undefined if the metadata names none. */
export function programOf({ source }: JsonObject): string | undefined {
  return typeof source === 'string' && source !== '' && source.length <= MAX_AGENT_CHARS ? source : undefined
}
