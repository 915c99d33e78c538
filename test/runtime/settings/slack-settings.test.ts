/* Evidence, replay: A run that must call a tool is refused if neither the agent nor the client has that tool. */
import { expect, test } from 'vitest'
import { DEFAULT_SLACK } from '../../../functions/channels/slack/settings.ts'
import { parseAgents } from '../../../functions/runtime/settings/agents-file.ts'
import { checkSlack, slackSecrets, slackSettings } from '../../../functions/runtime/settings/slack-settings.ts'

const agents = parseAgents({ agents: { researcher: {} } }, { model: 'demo/demo', tools: new Map(), defaultTools: [] })
const secretsOf = (values: Record<string, string>) => (name: string) => values[name]

test('all settings have defaults', () => {
  expect(slackSettings.parse({})).toEqual(DEFAULT_SLACK)
})

test('an unknown agent is refused with its path', () => {
  expect(() => checkSlack(slackSettings.parse({ agent: 'nobody' }), agents)).toThrow(
    'slack.agent: there is no agent nobody',
  )
  const channel = slackSettings.parse({ channels: { C1: { agent: 'nobody' } } })
  expect(() => checkSlack(channel, agents)).toThrow('slack.channels.C1.agent: there is no agent nobody')
  expect(() => checkSlack(slackSettings.parse({ agent: 'researcher' }), agents)).not.toThrow()
})

test('a workspace’s token names a secret, which must exist', () => {
  expect(slackSettings.safeParse({ workspaces: { T1: { token: 'xoxb-plain' } } }).success).toBe(false)
  const settings = slackSettings.parse({ workspaces: { T1: { token: '${secret:SLACK_TOKEN_ACME}' } } })
  expect(slackSecrets(settings)).toEqual(['SLACK_BOT_TOKEN', 'SLACK_SIGNING_SECRET', 'SLACK_TOKEN_ACME'])
  expect(() => checkSlack(settings, agents, secretsOf({ SLACK_SIGNING_SECRET: 's' }))).toThrow(
    'slack.workspaces.T1.token: there is no variable SLACK_TOKEN_ACME',
  )
})

test('a token without a signing secret, or the reverse, is refused', () => {
  const check = (values: Record<string, string>) => () => checkSlack(DEFAULT_SLACK, agents, secretsOf(values))
  expect(check({ SLACK_BOT_TOKEN: 'x' })).toThrow('SLACK_SIGNING_SECRET')
  expect(check({ SLACK_SIGNING_SECRET: 'x' })).toThrow('SLACK_BOT_TOKEN')
  expect(check({})).not.toThrow()
  expect(check({ SLACK_BOT_TOKEN: 'x', SLACK_SIGNING_SECRET: 'y' })).not.toThrow()
})

test('an agent that must call a missing tool is refused if Slack is set up', () => {
  const needing = parseAgents(
    { agents: { default: { policies: { require_tool: 'stock' } } } },
    { model: 'demo/demo', tools: new Map(), defaultTools: [] },
  )
  const check = (values: Record<string, string>) => () => checkSlack(DEFAULT_SLACK, needing, secretsOf(values))
  const reported = 'slack.agent: agent default must call stock (policy require_tool), and has no tool of this name'
  expect(check({ SLACK_BOT_TOKEN: 'x', SLACK_SIGNING_SECRET: 'y' })).toThrow(reported)
  expect(check({})).not.toThrow()
  // Secrets are not available at synthesis. The settings file alone shows whether Slack is set up.
  expect(() => checkSlack(slackSettings.parse({}), needing)).toThrow(reported)
  expect(() => checkSlack(DEFAULT_SLACK, needing)).not.toThrow()
})

test.each([
  [{ allow: { users: ['nobody'] } }, 'allow.users.0'],
  [{ tenant: 'Not Ok' }, 'tenant'],
  [{ suggested_prompts: Array.from({ length: 5 }, () => ({ title: 'a', message: 'b' })) }, 'suggested_prompts'],
  [{ chanels: {} }, ''],
])('%j is refused at %s', (value, path) => {
  expect(slackSettings.safeParse(value).error?.issues[0]?.path.join('.')).toBe(path)
})
