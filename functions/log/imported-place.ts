import type { JsonObject } from '../domain/json.ts'

/** Names of metadata that imports of earlier versions had, and those of today. */
const RENAMED = { cwd: 'folder', git_branch: 'branch', cli_version: 'agent_version' } as const
const PROGRAMS: readonly unknown[] = ['claude-code', 'codex']

/** The metadata of a session that an earlier version imported, with the names of today beside those of then. */
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

/** The program that a session was imported from, as an agent's name; undefined where the metadata names none. */
export function programOf({ source }: JsonObject): string | undefined {
  return typeof source === 'string' && source !== '' && source.length <= MAX_AGENT_CHARS ? source : undefined
}
