import type { Session } from '../../functions/client/api-types.ts'
import { compact, plural } from '../text/words.ts'

/** Names of programs by the source that their imports are marked with. */
export const PROGRAMS: { readonly [source: string]: string } = {
  'claude-code': 'Claude Code',
  codex: 'Codex',
  openai: 'Chat Completions',
  'ai-sdk': 'AI SDK',
  'langgraph-sqlite': 'LangGraph',
}

/** Name of the program that an import comes from. */
export const programName = (source: string): string => PROGRAMS[source] ?? source

const textOf = (session: Session, key: string): string | undefined => {
  const value = session.metadata[key]
  return typeof value === 'string' && value !== '' ? value : undefined
}

/** Where the work of an imported session was done. */
export function originOf(session: Session) {
  const source = textOf(session, 'source')
  return {
    source,
    program: source === undefined ? undefined : programName(source),
    folder: textOf(session, 'folder'),
    branch: textOf(session, 'branch'),
  }
}

/** Last part of a path: what a narrow list shows of a folder. */
export const folderName = (folder: string): string => folder.split(/[\\/]/).findLast((part) => part !== '') ?? folder

/** Agent, runs and tokens, as far as they say something. */
export const workFacts = ({ agent, usage }: Session): readonly string[] =>
  [
    agent === 'default' ? '' : agent,
    usage.runs === 0 ? '' : plural(usage.runs, 'run'),
    usage.total_tokens === null ? '' : `${compact(usage.total_tokens)} tokens`,
  ].filter((text) => text !== '')
