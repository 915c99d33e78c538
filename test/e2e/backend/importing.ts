import { mkdirSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, beforeEach } from 'vitest'
import { importFiles, type ImportCounts } from '../../../functions/cli/import/import-files.ts'
import type { Kind } from '../../../functions/cli/import/kinds.ts'
import type { Target } from '../../../functions/cli/import/upload.ts'
import { exportLines, type ExportedMessage } from './exported.ts'
import { startInProcess, testAgent, type InProcess } from './in-process.ts'
import { localBackend } from './local-backend.ts'

interface Imported {
  readonly counts: ImportCounts
  /** Reported damage, one line each. */
  readonly faults: readonly string[]
}

/**
 * Offset of the import's clock, which makes the files look unchanged for half an hour. Their completions then count as
 * complete, but their calls may still be in flight.
 */
const LATER_MS = 1_800_000

/** Imports the session files of a folder, as the command does. */
export async function importFolder(kind: Kind, folder: string, target: Target, dryRun = false): Promise<Imported> {
  const faults: string[] = []
  const order = { kind, places: [folder], dryRun, target, folders: { claude: undefined, codex: undefined } }
  const terminal = {
    fault: (line: string) => void faults.push(line),
    progress: undefined,
    now: () => Date.now() + LATER_MS,
  }
  return { counts: await importFiles(order, terminal), faults }
}

/** Fixture of a suite of imports. */
export interface Importing {
  readonly program: InProcess
  /** Separate folder of the current test. */
  readonly folder: string
  /** Damage that the last import reported. */
  readonly faults: readonly string[]
  /** Imports the folder into the suite's program, or into the program at `url`. */
  run(kind: Kind, rest?: { readonly dryRun?: boolean; readonly url?: string }): Promise<ImportCounts>
  /** Writes a file into the folder: texts unchanged, objects as one line each. Returns its path. */
  write(name: string, ...content: (string | Buffer | object)[]): string
  /** Makes the file look unchanged for a long time. */
  old(name: string): void
  /** Writes a file that looks unchanged for a long time. Returns its path. */
  writeOld(name: string, ...content: (string | Buffer | object)[]): string
  /** Returns a session's messages as its export contains them. */
  log(session: string): Promise<ExportedMessage[]>
}

/** Opens one program on SQLite for the whole suite, and an empty folder for each test. Call it where the suite is declared. */
export function declareImporting(): Importing {
  let program: InProcess
  let folder: string
  let faults: readonly string[] = []
  beforeAll(async () => {
    const agents = [testAgent({ name: 'default', model: 'openai-compatible/any' })]
    program = await startInProcess({ backend: localBackend, agents, modelBaseUrl: 'http://127.0.0.1:9' })
  })
  afterAll(() => program.close())
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'tooltrail-import-test-'))
    return () => rmSync(folder, { recursive: true, force: true })
  })
  return {
    get program() {
      return program
    },
    get folder() {
      return folder
    },
    get faults() {
      return faults
    },
    async run(kind, { dryRun = false, url = program.client.url } = {}) {
      const imported = await importFolder(kind, folder, { url }, dryRun)
      faults = imported.faults
      return imported.counts
    },
    write,
    old,
    writeOld(name, ...content) {
      const path = write(name, ...content)
      old(name)
      return path
    },
    log: (session) => exportLines(async (path) => fetch(program.client.url + path), session),
  }

  function write(name: string, ...content: (string | Buffer | object)[]): string {
    const path = join(folder, name)
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, Buffer.concat(content.map(bytesOf)))
    return path
  }

  function old(name: string): void {
    utimesSync(join(folder, name), 0, 0)
  }
}

const bytesOf = (one: string | Buffer | object): Buffer =>
  Buffer.isBuffer(one) ? one : Buffer.from(typeof one === 'string' ? one : `${JSON.stringify(one)}\n`)
