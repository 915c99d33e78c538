import { lstatSync, readFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { damagedOfClaudeCode } from '../../log/session-files/damaged-messages.ts'
import { isRecord, textIn } from '../../log/session-files/transcript.ts'
import type { Fault, FileLine } from '../../log/session-files/transcript.ts'
import { readLines } from './file-lines.ts'
import { plainPath } from './find-files.ts'

/** Limit of an output, in bytes. An import line may have 32 MB, so the limit leaves space for the rest of the line. */
const MAX_OUTPUT_BYTES = 30 * 1024 * 1024

/** Whether this is the file of a sub-agent. */
export const isAgentFile = (path: string): boolean => /^agent-[\w-]{1,64}\.jsonl$/u.test(basename(plainPath(path)))

/** The separate files that belong to a session file of Claude Code. */
export interface FilesBeside {
  /** Returns the lines of a sub-agent's file. Undefined if the session does not contain the sub-agent's result. */
  agentLines(agent: string): readonly FileLine[] | undefined
  /** Returns an output that is too long for its line in the session file. Undefined if the output's file is missing. */
  output(name: string): string | undefined
  /**
   * Paths of sub-agents' files. `members`: sub-agents whose result is in the session. `background`: sub-agents that ran
   * in the background.
   */
  readonly agents: { readonly members: readonly string[]; readonly background: readonly string[] }
  readonly faults: Fault[]
}

/**
 * Finds the files that a session file names. Older versions of Claude Code put them beside the session file, newer ones
 * in the folder with the session's name.
 */
export async function filesBeside(path: string, lines: readonly FileLine[]): Promise<FilesBeside> {
  const faults: Fault[] = []
  const [members, background] = [new Map<string, { place: string; lines: readonly FileLine[] }>(), new Set<string>()]
  const folder = plainPath(path).replace(/\.jsonl$/u, '')
  for (const { value } of isAgentFile(path) ? [] : lines) {
    const result = isRecord(value) ? value['toolUseResult'] : undefined
    const agent = isRecord(result) ? textIn(result, 'agentId') : undefined
    if (agent === undefined || members.has(agent) || !/^[A-Za-z0-9_-]{1,64}$/u.test(agent)) continue
    const places = [join(folder, 'subagents', `agent-${agent}.jsonl`), join(dirname(path), `agent-${agent}.jsonl`)]
    if (isRecord(result) && result['status'] === 'async_launched') {
      for (const place of places) background.add(place)
      continue
    }
    for (const place of places) {
      try {
        const read = await readLines(place)
        members.set(agent, { place, lines: read.lines })
        const damaged = [...read.faults, ...damagedOfClaudeCode(read.lines)]
        faults.push(...damaged.map((fault) => ({ ...fault, path: place })))
      } catch (error) {
        if (!(error instanceof Error) || ('code' in error && error.code === 'ENOENT')) continue
        faults.push({ path: place, line: 1, reason: `cannot be read: ${error.message}` })
      }
    }
  }
  return {
    agentLines: (agent) => members.get(agent)?.lines,
    output: (name) => outputIn(join(folderOf(path, lines), 'tool-results', name), faults),
    agents: { members: Array.from(members.values(), ({ place }) => place), background: [...background] },
    faults,
  }
}

/** The folder that belongs to a session file. For a sub-agent's file, the folder of its session. */
function folderOf(path: string, lines: readonly FileLine[]): string {
  if (!isAgentFile(path)) return plainPath(path).replace(/\.jsonl$/u, '')
  const folder = dirname(path)
  return basename(folder) === 'subagents' ? dirname(folder) : join(folder, sessionIn(lines) ?? '')
}

/** The session id in a file's lines. */
export function sessionIn(lines: readonly FileLine[]): string | undefined {
  const names = lines.map(({ value }) => (isRecord(value) ? textIn(value, 'sessionId') : undefined))
  return names.find((name) => name !== undefined && /^[\w-]{1,100}$/u.test(name))
}

/** Reads an output file. Links are not followed, because a session file may name any path. */
function outputIn(path: string, faults: Fault[]): string | undefined {
  try {
    const found = lstatSync(path)
    if (!found.isFile()) return undefined
    const text = found.size > MAX_OUTPUT_BYTES ? undefined : readFileSync(path, 'utf8')
    if (text !== undefined && Buffer.byteLength(JSON.stringify(text)) <= MAX_OUTPUT_BYTES) return text
    faults.push({
      path,
      line: 1,
      reason: 'is longer than 30 MB: only its beginning, which the session has, is imported',
    })
  } catch (error) {
    if (!(error instanceof Error) || !('code' in error)) throw error
    if (error.code !== 'ENOENT')
      faults.push({ path, line: 1, reason: `cannot be read: ${String(error.code)}: only its beginning is imported` })
  }
  return undefined
}
