import type { Session } from '../../functions/client/api-types.ts'
import { compact, plural } from '../text/words.ts'

/** Names of programs from which sessions are imported, by the field `source` in the sessions' metadata. */
export const PROGRAMS: { readonly [source: string]: string } = {
  'claude-code': 'Claude Code',
  codex: 'Codex',
  openai: 'Chat Completions',
  'ai-sdk': 'AI SDK',
  'langgraph-sqlite': 'LangGraph',
}

/** Returns the name of the program from which a session was imported. */
export const programName = (source: string): string => PROGRAMS[source] ?? source

const textOf = (session: Session, key: string): string | undefined => {
  const value = session.metadata[key]
  return typeof value === 'string' && value !== '' ? value : undefined
}

/** Returns the origin of an imported session: its program, folder and branch. */
export function originOf(session: Session) {
  const source = textOf(session, 'source')
  return {
    source,
    program: source === undefined ? undefined : programName(source),
    folder: textOf(session, 'folder'),
    branch: textOf(session, 'branch'),
  }
}

/** Returns the last part of a path, as a short name of a folder. */
export const folderName = (folder: string): string => folder.split(/[\\/]/).findLast((part) => part !== '') ?? folder

/** Returns facts about a session's work: agent, runs and tokens. Omits facts that carry no information. */
export const workFacts = ({ agent, usage }: Session): readonly string[] =>
  [
    agent === 'default' ? '' : agent,
    usage.runs === 0 ? '' : plural(usage.runs, 'run'),
    usage.total_tokens === null ? '' : `${compact(usage.total_tokens)} tokens`,
  ].filter((text) => text !== '')
