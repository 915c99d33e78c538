/** The scopes that the bot needs, with the reasons. */
export const SCOPES: readonly (readonly [scope: string, reason: string])[] = [
  ['app_mentions:read', 'hear that somebody mentions the bot'],
  ['assistant:write', 'be an agent: status, suggested prompts, the tab for messages'],
  ['channels:history', 'read the thread in which it is mentioned, and its own replies after a crash'],
  ['groups:history', 'read the same in private channels that it is in'],
  ['im:history', 'hear direct messages, and read its own replies there'],
  ['mpim:history', 'read the same in group messages'],
  ['chat:write', 'reply'],
  ['files:read', 'read images and files that people add'],
  ['files:write', 'add a long answer as a file'],
  ['users:read', 'tell people from bots, where a person writes with a client of their own'],
]

const EVENTS = [
  'app_mention',
  'message.im',
  'message.channels',
  'message.groups',
  'message.mpim',
  'app_home_opened',
  'agent_session_stopped',
]

/**
 * The manifest of a Slack app, in YAML. Its events and buttons are sent to `url`, the program's own address; without
 * `url`, over Socket Mode.
 */
export function slackManifest(url: URL | undefined): string {
  const address = url && JSON.stringify(`${url.href.replace(/\/$/, '')}/slack/events`)
  const request = address === undefined ? '' : `\n    request_url: ${address}`
  return `display_information:
  name: Tooltrail
  description: An agent that never forgets what it did
features:
  bot_user:
    display_name: Tooltrail
    always_online: true
  app_home:
    home_tab_enabled: false
    messages_tab_enabled: true
    messages_tab_read_only_enabled: false
  agent_view:
    agent_description: Answers in threads, and remembers what its tools did
oauth_config:
  scopes:
    bot:
${SCOPES.map(([scope, reason]) => `      - ${scope} # to ${reason}`).join('\n')}
settings:
  event_subscriptions:${request}
    bot_events:
${EVENTS.map((event) => `      - ${event}`).join('\n')}
  interactivity:
    is_enabled: true${request}
  org_deploy_enabled: false
  socket_mode_enabled: ${url === undefined}
  token_rotation_enabled: false
`
}
