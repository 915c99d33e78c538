import { Option, type Command } from 'commander'
import { count, folderPath, messageId, sessionId, value } from './input.ts'
import type { SearchOptions } from './commands/search.ts'
import type { SessionsOptions } from './commands/sessions.ts'
import type { ShowOptions } from './commands/show.ts'
import type { Connection } from './connect.ts'
import { readSince, readUntil } from './moments.ts'

export interface Commands {
  readonly program: Command
  /** Runs work with a connection to the program that the options name. */
  readonly on: (work: (connection: Connection) => Promise<void>) => Promise<void>
  /** Aborts when the program that reads the output has closed the output. */
  readonly readerGone: AbortSignal
}

const RUN_STATUSES = ['queued', 'running', 'paused', 'completed', 'failed', 'cancelled']
const ROLES = ['user', 'assistant', 'tool_call', 'tool_result']
const DEFAULT_SESSIONS = 20
const DEFAULT_HITS = 10

/** Adds the commands that show lists: `search`, `sessions` and `show`. */
export function addListCommands({ program, on, readerGone }: Commands): void {
  filtered(program.command('search <query...>').description('find messages, tool calls and tool results'))
    .addOption(new Option('--role <role>', 'of what is found').choices(ROLES))
    .option('--tool <name>', 'name of the tool', value)
    .option('--session <id>', 'only in this session', sessionId)
    .addOption(
      new Option('--sort <order>', 'best first, or by time')
        .choices(['relevance', 'newest', 'oldest'])
        .default('relevance'),
    )
    .addOption(
      new Option('--dates <how>', 'dates in the query name a time, or are words')
        .choices(['read', 'words'])
        .default('read'),
    )
    .addOption(new Option('--group <by>', 'only the first hit of each session').choices(['session']))
    .option('--limit <n>', 'hits at most', count, DEFAULT_HITS)
    .option('--after <message>', 'begin behind the hit with this id, which is the last of its line', messageId)
    .option('--json', 'each hit as a line of JSON')
    .action(async (words: string[], options: SearchOptions) => {
      const { search } = await import('./commands/search.ts')
      await on(({ client }) => search(client, words.join(' '), options, readerGone))
    })

  filtered(program.command('sessions').description('list sessions, the one with the newest message first'))
    .option('--owner <owner>', 'only of this owner', value)
    .addOption(new Option('--run-status <status>', 'only those whose last run is in this state').choices(RUN_STATUSES))
    .option('--limit <n>', 'sessions at most', count, DEFAULT_SESSIONS)
    .option('--after <session>', 'begin behind the session with this id', sessionId)
    .option('--json', 'each session as a line of JSON')
    .action(async (options: SessionsOptions) => {
      const { listSessions } = await import('./commands/sessions.ts')
      await on(({ client }) => listSessions(client, options, readerGone))
    })

  program
    .command('show')
    .argument('<session>', 'its id', sessionId)
    .description('show the messages of a session')
    .option(
      '--around <message>',
      'only those around the message with this id: half before it, half from it on',
      messageId,
    )
    .option('--limit <n>', 'messages at most: the newest, or with --around those around it', count)
    .option('--json', 'each message as a line of JSON')
    .action(async (session: string, options: ShowOptions) => {
      const { show } = await import('./commands/show.ts')
      await on(({ client }) => show(client, session, options, readerGone))
    })
}

/** Adds the filters that lists of sessions and of hits share. */
const filtered = (command: Command): Command =>
  command
    .option('--agent <name>', 'only of this agent', value)
    .option('--folder <path>', 'only of work in this folder; a path that ends in * names all that begin so', folderPath)
    .option('--source <name>', 'only of sessions imported from this program, such as claude-code', value)
    .option('--branch <name>', 'only of work on this branch', value)
    .option('--since <time>', 'from this date or time on, today, yesterday, or a span before now such as 7d', readSince)
    .option('--until <time>', 'up to this date or time, in the same forms', readUntil)
