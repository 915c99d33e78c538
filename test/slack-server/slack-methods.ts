import type { Args, StoredMessage } from './slack-messages.ts'
import { addToStream, contentOf, has, Refused, textArg } from './slack-messages.ts'

export interface Bot {
  readonly team: string
  readonly user: string
  readonly bot: string
}

export interface SlackState {
  readonly messages: StoredMessage[]
  readonly statuses: Args[]
  readonly prompts: Args[]
  readonly uploads: Map<string, { title: string; content: string }>
  /** Users of the workspace, and whether each is a bot. */
  readonly users: Map<string, { readonly isBot: boolean }>
  /** Address for Socket Mode. */
  socketUrl?: string
  /** Set when messages can no longer be edited. */
  editWindowClosed: boolean
  nextTs(): string
  readonly base: () => string
}

type Method = (state: SlackState, args: Args, bot: Bot) => object

const find = (state: SlackState, args: Args, bot: Bot): StoredMessage => {
  const found = state.messages.find(({ channel, ts }) => channel === args['channel'] && ts === args['ts'])
  if (found === undefined) throw new Refused('message_not_found')
  if (found.bot_id !== bot.bot) throw new Refused('cant_update_message')
  return found
}

const streaming = (state: SlackState, args: Args, bot: Bot): StoredMessage => {
  const found = find(state, args, bot)
  if (found.stoppedByUser === true) throw new Refused('stopped_by_user')
  if (found.streaming_state !== 'in_progress') throw new Refused('message_not_in_streaming_state')
  return found
}

const inThread = (args: Args): { thread_ts?: string } =>
  typeof args['thread_ts'] === 'string' ? { thread_ts: args['thread_ts'] } : {}

const own = (state: SlackState, args: Args, { user, bot }: Bot): StoredMessage => ({
  channel: textArg(args, 'channel'),
  ts: state.nextTs(),
  ...inThread(args),
  user,
  bot_id: bot,
  text: '',
})

/** The methods of Slack's Web API that the program calls, with their errors and limits. */
export const METHODS: Readonly<Record<string, Method>> = {
  'auth.test': (_state, _args, { team, user, bot }) => ({ team_id: team, user_id: user, bot_id: bot }),
  'chat.postMessage'(state, args, bot) {
    const message = {
      ...own(state, args, bot),
      ...contentOf(args, 40_000),
      ...(has(args, 'metadata') ? { metadata: args['metadata'] } : {}),
    }
    state.messages.push(message)
    return { channel: message.channel, ts: message.ts }
  },
  'chat.update'(state, args, bot) {
    const message = find(state, args, bot)
    if (state.editWindowClosed) throw new Refused('edit_window_closed')
    if (message.streaming_state === 'in_progress') throw new Refused('streaming_state_conflict')
    const content = contentOf(args, 4_000)
    delete message.blocks
    Object.assign(message, content, has(args, 'metadata') ? { metadata: args['metadata'] } : {})
    return { channel: message.channel, ts: message.ts }
  },
  'chat.delete'(state, args, bot) {
    state.messages.splice(state.messages.indexOf(find(state, args, bot)), 1)
    return {}
  },
  'chat.startStream'(state, args, bot) {
    textArg(args, 'thread_ts')
    if (has(args, 'metadata')) throw new Refused('invalid_arguments')
    if (
      !textArg(args, 'channel').startsWith('D') &&
      !(has(args, 'recipient_user_id') && has(args, 'recipient_team_id'))
    )
      throw new Refused('missing_recipient_user_id')
    const message: StoredMessage = { ...own(state, args, bot), streaming_state: 'in_progress' }
    addToStream(message, args)
    state.messages.push(message)
    return { channel: message.channel, ts: message.ts }
  },
  'chat.appendStream'(state, args, bot) {
    if (has(args, 'metadata')) throw new Refused('invalid_arguments')
    addToStream(streaming(state, args, bot), args)
    return { channel: args['channel'], ts: args['ts'] }
  },
  'chat.stopStream'(state, args, bot) {
    const message = streaming(state, args, bot)
    addToStream(message, args)
    message.streaming_state = 'completed'
    if (has(args, 'metadata')) message.metadata = args['metadata']
    if (has(args, 'blocks')) message.blocks = args['blocks']
    if (has(args, 'session_status')) state.statuses.push({ status: args['session_status'], by: 'chat.stopStream' })
    return { channel: message.channel, ts: message.ts }
  },
  'conversations.replies'(state, args) {
    const root = textArg(args, 'ts')
    const [oldest, latest] = [Number(args['oldest'] ?? 0), Number(args['latest'] ?? Infinity)]
    const all = state.messages.filter(
      ({ channel, ts, thread_ts: thread }) =>
        channel === args['channel'] && (ts === root || (thread === root && Number(ts) > oldest && Number(ts) < latest)),
    )
    if (all.length === 0) throw new Refused('thread_not_found')
    const [from, limit] = [Number(args['cursor'] ?? 0), Number(args['limit'] ?? 1_000)]
    const shown = all.slice(from, from + limit).map(({ mode: _mode, file, stoppedByUser: _by, ...message }) => ({
      ...message,
      ...(file === undefined ? {} : { files: [{ id: file.id }] }),
    }))
    const next = from + limit < all.length ? String(from + limit) : ''
    return { messages: structuredClone(shown), has_more: next !== '', response_metadata: { next_cursor: next } }
  },
  'apps.connections.open': (state) => ({ url: state.socketUrl }),
  'users.info'(state, args) {
    const id = textArg(args, 'user')
    const user = state.users.get(id)
    if (user === undefined) throw new Refused('user_not_found')
    return { user: { id, is_bot: user.isBot } }
  },
  'agents.sessions.setStatus'(state, args) {
    if (!['active', 'processing', 'suspended', 'closed'].includes(textArg(args, 'status')))
      throw new Refused('invalid_status')
    state.statuses.push(args)
    return {}
  },
  'assistant.threads.setSuggestedPrompts'(state, args) {
    state.prompts.push(args)
    return {}
  },
  'files.getUploadURLExternal'(state, args) {
    const id = `F${state.uploads.size + 1}`
    state.uploads.set(id, { title: textArg(args, 'filename'), content: '' })
    return { file_id: id, upload_url: `${state.base()}/upload/${id}` }
  },
  'files.completeUploadExternal'(state, args, bot) {
    if (has(args, 'metadata')) throw new Refused('invalid_arguments')
    for (const { id } of args['files'] as readonly { readonly id: string }[]) {
      const upload = state.uploads.get(id)
      if (upload === undefined) throw new Refused('file_not_found')
      const place = { channel: args['channel_id'], thread_ts: args['thread_ts'] }
      if (!state.messages.some(({ file }) => file?.id === id))
        state.messages.push({ ...own(state, place, bot), file: { id, ...upload } })
    }
    return { files: args['files'] }
  },
}
