import { existsSync } from 'node:fs'
import { lstat, readdir } from 'node:fs/promises'
import { homedir } from 'node:os'
import { basename, join } from 'node:path'

export interface FoundFile {
  readonly path: string
  readonly bytes: number
  /** Time of the last change, in milliseconds since 1970. */
  readonly changedAt: number
}

export interface Found {
  readonly files: readonly FoundFile[]
  /** Paths that could not be read, with the reasons. */
  readonly faults: readonly { readonly path: string; readonly reason: string }[]
}

/** Extensions of compressed files that `readLines` reads. */
const COMPRESSED = ['.zst', '.gz'] as const
/** Endings of other files beside session files: unfinished files of a program, and copies made by editors. */
const UNFINISHED = /\.(?:tmp|part|lock|bak|swp)[^/]*$|~$/u
/** Index files that programs keep beside their sessions. */
const LISTS = new Set(['session_index.jsonl', 'history.jsonl'])

/** Limit of nested folders. */
const DEEPEST = 16

/**
 * Finds plain and compressed files with these endings in these places, sorted by name. If a file exists in both forms,
 * the plain one is used. A place may itself be a file, with any ending. Links are not followed, so no folder is read
 * twice. Reports paths that cannot be read. Also reports files with a further extension after the ending, such as
 * `a.jsonl.xz`.
 */
export async function findFiles(places: readonly string[], endings: readonly string[]): Promise<Found> {
  const files: FoundFile[] = []
  const faults: { path: string; reason: string }[] = []

  async function visit(path: string, depth: number): Promise<void> {
    try {
      const found = await lstat(path)
      const kind = depth === 0 ? 'wanted' : kindOf(path, endings)
      if (found.isFile() && kind === 'wanted') files.push({ path, bytes: found.size, changedAt: found.mtimeMs })
      if (found.isFile() && kind === 'skipped')
        faults.push({ path, reason: `is skipped: only ${readable(endings)} are read` })
      if (found.isSymbolicLink() && depth === 0) faults.push({ path, reason: 'is a link: name its target' })
      if (!found.isDirectory()) return
      if (depth > DEEPEST) return void faults.push({ path, reason: `is more than ${DEEPEST} folders deep: name it` })
      for (const name of (await readdir(path)).toSorted()) await visit(join(path, name), depth + 1)
    } catch (error) {
      if (!(error instanceof Error) || !('code' in error)) throw error
      faults.push({ path, reason: `cannot be read: ${String(error.code)}` })
    }
  }

  for (const place of places) await visit(place, 0)
  const paths = new Set(files.map(({ path }) => path))
  return { files: files.filter(({ path }) => path === plainPath(path) || !paths.has(plainPath(path))), faults }
}

/** The path of a file without its compression extension. */
export function plainPath(path: string): string {
  const ending = COMPRESSED.find((one) => path.endsWith(one))
  return ending === undefined ? path : path.slice(0, -ending.length)
}

function kindOf(path: string, endings: readonly string[]): 'wanted' | 'skipped' | 'other' {
  if (LISTS.has(basename(path))) return 'other'
  if (endings.some((ending) => plainPath(path).endsWith(ending))) return 'wanted'
  const isSession = endings.some((ending) => basename(path).includes(`${ending}.`))
  return isSession && !UNFINISHED.test(path) ? 'skipped' : 'other'
}

const readable = (endings: readonly string[]): string =>
  endings.flatMap((ending) => ['', ...COMPRESSED].map((one) => ending + one)).join(', ')

/** Folders of the programs' settings, if they are not the usual ones. */
export interface SessionFolders {
  readonly claude: string | undefined
  readonly codex: string | undefined
}

/** The default places of a program's files: those that exist, or all of them if none exists. */
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
