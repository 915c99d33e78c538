import { basename, resolve } from 'node:path'
import type { Client } from '../../client/client.ts'
import { isAgentFile } from './claude-code-files.ts'
import { placeOf } from '../../log/session-files/transcript.ts'
import type { Fault } from '../../log/session-files/transcript.ts'
import type { Kind } from './kinds.ts'
import { NotRunning } from '../../runtime/command.ts'
import { findFiles, plainPath, usualPlaces, type FoundFile, type SessionFolders } from './find-files.ts'
import { createProgress } from './progress.ts'
import { sideBySide } from './side-by-side.ts'
import { createFaultReport } from './reported-faults.ts'
import { CALLING_MS, contentsOfFile, ENDINGS, type FileContent, type FileSession } from './sessions-of-file.ts'
import { clientOf, isForAll, requireRights, upload, type Target } from './upload.ts'

export interface ImportOrder {
  readonly kind: Kind
  /** If empty, the default places of this kind of program are used. */
  readonly places: readonly string[]
  readonly dryRun: boolean
  readonly owner?: string | undefined
  readonly target: Target
  readonly folders: SessionFolders
}

/** The output of the command. */
export interface Terminal {
  /** Prints a fault as one line. */
  fault(line: string): void
  /** Prints a line that the next one replaces. Undefined if there is no terminal. */
  readonly progress: ((line: string) => void) | undefined
  now(): number
}

export interface ImportCounts {
  files: number
  sessions: number
  messages: number
  /**
   * Number of messages left for a later import, because their files may still change. `changingFiles`: number of these
   * files.
   */
  heldBack: number
  changingFiles: number
  /** Number of files that were read but had nothing to import, because of faults. */
  unreadable: number
  /** Number of places and files that could not be read, and of files that the program rejected. */
  failed: number
}

const HELD_BACK = { heldBack: 0, changingFiles: 0 }

/** Limit of a source's name, in characters. It leaves space for the names of the source's parts. */
const MAX_SOURCE_CHARACTERS = 512
/** Limit of the bytes of parsed files in memory; a larger file is processed alone. */
const SIDE_BY_SIDE = 16_000_000

/**
 * Imports the new messages of session files. Small files are processed concurrently, so that one is read while others
 * are stored. Damaged messages are reported with file and line, and dropped. Rejects with `NotRunning`, or with an
 * `ApiProblem` that would occur for every file.
 */
export async function importFiles(order: ImportOrder, terminal: Terminal): Promise<ImportCounts> {
  const places = order.places.length > 0 ? order.places : usualPlaces(order.kind, order.folders)
  const found = await findFiles(places, ENDINGS[order.kind])
  for (const { path, reason } of found.faults) terminal.fault(`${path}: ${reason}`)
  const { sessions, agents } = Object.groupBy(found.files, ({ path }) =>
    order.kind === 'claude-code' && isAgentFile(path) ? 'agents' : 'sessions',
  )
  const counts: ImportCounts = {
    files: 0,
    sessions: 0,
    messages: 0,
    ...HELD_BACK,
    unreadable: 0,
    failed: found.faults.length,
  }
  const progress = createProgress(terminal, found.files)
  const serialize = createSerializer()
  const client = clientOf(order.target)
  if (!order.dryRun && found.files.length > 0) await requireRights(client)
  const under = { terminal, client, counts, serialize, agents: createAgentFiles(terminal), report: progress.report }
  // The files of a session's members are read together with the session. Other agent files are read after all sessions.
  for (const files of [sessions ?? [], agents ?? []])
    await sideBySide(files, { most: SIDE_BY_SIDE, weight: ({ bytes }) => bytes }, async (file) => {
      progress.report(counts.messages)
      if (files !== agents || under.agents.isApart(file)) await importFile(order, file, under)
      progress.done(file, counts.messages)
    })
  progress.end()
  return counts
}

interface Under {
  readonly terminal: Terminal
  readonly client: Client
  readonly counts: ImportCounts
  readonly serialize: Serialize
  readonly agents: ReturnType<typeof createAgentFiles>
  /** Reports the number of new messages so far. */
  report(messages: number): void
}

async function importFile(order: ImportOrder, file: FoundFile, under: Under): Promise<void> {
  const { terminal, counts } = under
  const faultReport = createFaultReport(file.path, terminal.fault)
  try {
    let [sessions, faults, heldBack] = [0, 0, 0]
    for await (const content of contentsOfFile(order.kind, file.path, () => terminal.now())) {
      faultReport.take(content.faults)
      under.agents.take(content)
      faultReport.take(await importSessions(order, file, content, under))
      sessions += content.sessions.length
      faults += content.faults.length
      heldBack += content.heldBack
    }
    counts.files++
    counts.heldBack += heldBack
    if (heldBack > 0) counts.changingFiles++
    if (sessions === 0 && faults > 0) counts.unreadable++
  } catch (error) {
    if (error instanceof NotRunning || isForAll(error) || !(error instanceof Error) || !('code' in error)) throw error
    terminal.fault(`${file.path}: ${error.message}`)
    counts.failed++
  } finally {
    faultReport.end()
  }
}

/** Imports the sessions of a file. Returns the places where messages have changed since an earlier import. */
async function importSessions(
  { kind, dryRun, owner }: ImportOrder,
  file: FoundFile,
  { sessions }: FileContent,
  { client, counts, serialize, report }: Under,
): Promise<Fault[]> {
  const faults: Fault[] = []
  for (const session of sessions) {
    const source = `${kind}:${lastingName(kind, file.path, session)}`.slice(0, MAX_SOURCE_CHARACTERS)
    const { messages, changed } = dryRun
      ? { messages: session.stored }
      : await serialize(session.id, () => upload(client, source, session, owner))
    counts.messages += messages
    if (messages > 0) counts.sessions++
    if (changed !== undefined) faults.push({ ...placeOf(changed), reason: changedSince(changed.session) })
    report(counts.messages)
  }
  return faults
}

const changedSince = (session: string): string =>
  `has changed since it was imported: its conversation is imported again, as ${session}`

/**
 * Decides which files of sub-agents are separate conversations. These are files of sub-agents in the background, and
 * files that no session names.
 */
function createAgentFiles(terminal: Terminal) {
  const [members, background] = [new Set<string>(), new Set<string>()]
  return {
    take({ agents }: FileContent): void {
      for (const path of agents?.members ?? []) members.add(resolve(path))
      for (const path of agents?.background ?? []) background.add(resolve(path))
    },
    isApart({ path, changedAt }: FoundFile): boolean {
      const isIdle = terminal.now() - changedAt >= CALLING_MS
      return !members.has(resolve(path)) && (isIdle || background.has(resolve(path)))
    },
  }
}

/** Matches files whose names contain the id of the session or sub-agent. */
const WITH_ID = /(?:[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|\/agent-[\w-]{1,64})\.jsonl$/iu

/**
 * Returns the lasting name of a conversation's source, by which later imports find the conversation. Agents' files keep
 * their names when they are moved, archived or copied. The names of exports and threads are in their files.
 */
function lastingName(kind: Kind, path: string, session: FileSession): string {
  if (kind === 'native' || kind === 'langgraph-sqlite') return session.id
  const plain = plainPath(path)
  return session.isLog && WITH_ID.test(plain) ? basename(plain) : resolve(plain)
}

type Serialize = <Result>(session: string, work: () => Promise<Result>) => Promise<Result>

/** Serializes the imports of each session, because several files may have messages of one session. */
function createSerializer(): Serialize {
  const last = new Map<string, Promise<unknown>>()
  return (session, work) => {
    const before = last.get(session) ?? Promise.resolve()
    const turn = before.then(work, work)
    last.set(session, turn)
    const forget = (): void => {
      if (last.get(session) === turn) last.delete(session)
    }
    turn.then(forget, forget)
    return turn
  }
}
