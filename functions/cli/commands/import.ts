import { parseArgs } from 'node:util'
import { ApiProblem } from '../../client/problem.ts'
import { NotRunning, NOT_RUNNING, runCommand, UsageError, argsWithoutEnvironment } from '../../runtime/command.ts'
import { readSessionFolders } from '../../runtime/settings/config.ts'
import { usualPlaces } from '../import/find-files.ts'
import { importFiles, type ImportCounts, type ImportOrder } from '../import/import-files.ts'
import { KINDS, type Kind } from '../import/sessions-of-file.ts'
import { addressFault } from '../input.ts'
import { note, oneLine, progressLine } from '../terminal.ts'

const USAGE = `Brings in conversations from the session files of other programs. Run it again at any time: it takes only what is new.

  npx tooltrail import <kind> [PATH…] [--dry-run] [--owner <owner>] [--url <address>] [--key <API key>]

Kinds: ${KINDS.join(', ')}. Without a PATH, claude-code and codex are looked for where they keep their files.
--dry-run counts and stores nothing. Damaged lines are reported as FILE:LINE: reason, and left out.
`

const counted = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? '' : 's'}`

await runCommand(USAGE, async (line) => {
  const order = readOrder(argsWithoutEnvironment(line))
  try {
    const counts = await importFiles(order, {
      fault: (line) => {
        progressLine?.('')
        note(`${printable(line)}\n`)
      },
      progress: progressLine,
      now: () => Date.now(),
    })
    const isNothing = counts.unreadable > 0 && counts.unreadable === counts.files
    if (counts.failed > 0 || isNothing) process.exitCode = 1
    const [files, messages] = [counted(counts.files, 'file'), counted(counts.messages, 'message')]
    const what = `${messages} in ${counted(counts.sessions, 'session')}`
    const taken = order.dryRun ? `to take: ${what}, with what is there already` : `new: ${what}`
    return `${files} read; ${taken}\n${heldBackText(counts)}`
  } catch (error) {
    if (!(error instanceof NotRunning) && !(error instanceof ApiProblem)) throw error
    progressLine?.('')
    note(`${oneLine(error.message, 1_000)}${error instanceof ApiProblem ? nextStep(error) : ''}\n`)
    process.exitCode = error instanceof NotRunning ? NOT_RUNNING : 1
    return ''
  }
})

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

function readOrder(argv: readonly string[]): ImportOrder {
  const [kind, ...places] = parse(argv).positionals
  if (!isKind(kind)) throw new UsageError(`name the kind of the files: ${KINDS.join(', ')}`)
  const folders = readSessionFolders()
  if (places.length === 0 && usualPlaces(kind, folders).length === 0)
    throw new UsageError('name the files or folders: only claude-code and codex have default folders')
  const { url = 'http://127.0.0.1:3000', key, owner, 'dry-run': dryRun = false } = parse(argv).values
  const fault = addressFault(url)
  if (fault !== undefined) throw new UsageError(`--url ${fault}`)
  return { kind, places, dryRun, owner, target: { url, key }, folders }
}

function isKind(word: string | undefined): word is Kind {
  return KINDS.some((kind) => kind === word)
}

function parse(argv: readonly string[]) {
  const text = { type: 'string' } as const
  const options = { url: text, key: text, owner: text, 'dry-run': { type: 'boolean' } } as const
  try {
    return parseArgs({ args: [...argv], options, strict: true, allowPositionals: true })
  } catch (error) {
    throw new UsageError((error as Error).message, { cause: error })
  }
}
