import { ApiProblem } from '../../client/problem.ts'
import { MISUSED, NotRunning, NOT_RUNNING } from '../../runtime/command.ts'
import { readCommandSettings } from '../../runtime/settings/config.ts'
import { usualPlaces } from '../import/find-files.ts'
import { importFiles, type ImportCounts } from '../import/import-files.ts'
import type { Kind } from '../import/kinds.ts'
import { Failed } from '../input.ts'
import { note, oneLine, print, progressLine } from '../terminal.ts'

export interface ImportOptions {
  /** Whether to count the messages and store nothing. */
  readonly dryRun?: boolean
  readonly owner?: string
}

type Target = Parameters<typeof importFiles>[0]['target']

const counted = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? '' : 's'}`

/**
 * Imports session files of another program into the Tooltrail program that `whileOpen` provides. Without `places`, the
 * other program's default folders are searched. Damaged lines are reported and left out.
 */
export async function importSessions(
  { kind, places, dryRun = false, owner }: ImportOptions & { readonly kind: Kind; readonly places: readonly string[] },
  whileOpen: (work: (target: Target) => Promise<void>) => Promise<void>,
): Promise<void> {
  const { claude, codex } = readCommandSettings()
  const folders = { claude, codex }
  if (places.length === 0 && usualPlaces(kind, folders).length === 0)
    throw new Failed(
      'Name the files or folders: only claude-code and codex have default folders. See: tooltrail import --help',
      MISUSED,
    )
  await whileOpen(async (target) => {
    try {
      const counts = await importFiles(
        { kind, places, dryRun, owner, target, folders },
        { fault: printFault, progress: progressLine, now: () => Date.now() },
      )
      printCounts(counts, dryRun)
    } catch (error) {
      if (!(error instanceof NotRunning) && !(error instanceof ApiProblem)) throw error
      progressLine?.('')
      note(`${oneLine(error.message, 1_000)}${error instanceof ApiProblem ? nextStep(error) : ''}\n`)
      process.exitCode = error instanceof NotRunning ? NOT_RUNNING : 1
    }
  })
}

function printFault(line: string): void {
  progressLine?.('')
  note(`${printable(line)}\n`)
}

/** The exit code is 1 if messages failed, or if no file could be read. */
function printCounts(counts: ImportCounts, dryRun: boolean): void {
  const isNothing = counts.unreadable > 0 && counts.unreadable === counts.files
  if (counts.failed > 0 || isNothing) process.exitCode = 1
  const [files, messages] = [counted(counts.files, 'file'), counted(counts.messages, 'message')]
  const what = `${messages} in ${counted(counts.sessions, 'session')}`
  const taken = dryRun ? `to take: ${what}, with what is there already` : `new: ${what}`
  print(`${files} read; ${taken}\n${heldBackText(counts)}`)
}

/** The line about messages left for a later import; empty if there are none. */
function heldBackText({ heldBack, changingFiles }: ImportCounts): string {
  if (heldBack === 0) return ''
  const files = changingFiles === 1 ? 'the file is' : `${changingFiles} files are`
  return `${counted(heldBack, 'message')} held back: ${files} still changing\n`
}

/** The next step after an error that would occur for all files. */
function nextStep({ status, code }: ApiProblem): string {
  if (status === 401) return '; give one with --key'
  if (code === 'scope_missing') return ': an import needs a key with the scopes read and write'
  return status === 403 ? '' : '; name the address of a program with --url'
}

/** Removes control characters, because file names and texts come from outside. */
function printable(line: string): string {
  // eslint-disable-next-line no-control-regex
  return line.replaceAll(/[\u0000-\u001f\u007f-\u009f]/gu, '?')
}
