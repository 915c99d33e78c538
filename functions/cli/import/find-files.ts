import { existsSync } from 'node:fs'
import { lstat, readdir } from 'node:fs/promises'
import { homedir } from 'node:os'
import { join } from 'node:path'

export interface FoundFile {
  readonly path: string
  readonly bytes: number
  /** Milliseconds since 1970. */
  readonly changedAt: number
}

export interface Found {
  readonly files: readonly FoundFile[]
  /** What could not be looked at, and why. */
  readonly faults: readonly { readonly path: string; readonly reason: string }[]
}

/** Folders within each other. */
const DEEPEST = 16

/**
 * Files of these endings in these places, in the order of their names. A place may be a file, whatever its ending. Links are not
 * followed, so no folder is seen twice; what cannot be read is told.
 */
export async function findFiles(places: readonly string[], endings: readonly string[]): Promise<Found> {
  const files: FoundFile[] = []
  const faults: { path: string; reason: string }[] = []

  async function look(path: string, depth: number): Promise<void> {
    try {
      const found = await lstat(path)
      const isWanted = depth === 0 || endings.some((ending) => path.endsWith(ending))
      if (found.isFile() && isWanted) files.push({ path, bytes: found.size, changedAt: found.mtimeMs })
      if (found.isSymbolicLink() && depth === 0) faults.push({ path, reason: 'is a link: name what it leads to' })
      if (!found.isDirectory()) return
      if (depth > DEEPEST) return void faults.push({ path, reason: `is more than ${DEEPEST} folders deep: name it` })
      for (const name of (await readdir(path)).toSorted()) await look(join(path, name), depth + 1)
    } catch (error) {
      if (!(error instanceof Error) || !('code' in error)) throw error
      faults.push({ path, reason: `cannot be read: ${String(error.code)}` })
    }
  }

  for (const place of places) await look(place, 0)
  return { files, faults }
}

/** Where programs keep their settings, if not where they usually do. */
export interface SessionFolders {
  readonly claude: string | undefined
  readonly codex: string | undefined
}

/** Where the files of a program are when nobody says: what is there of it, or all of it if nothing is. */
export function usualPlaces(kind: string, { claude, codex }: SessionFolders): string[] {
  const folder = codex ?? join(homedir(), '.codex')
  const places: { readonly [kind: string]: readonly string[] } = {
    'claude-code': [join(claude ?? join(homedir(), '.claude'), 'projects')],
    codex: [join(folder, 'sessions'), join(folder, 'archived_sessions')],
  }
  const all = places[kind] ?? []
  const there = all.filter((place) => existsSync(place))
  return there.length > 0 ? there : [...all]
}
