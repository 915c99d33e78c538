import * as z from 'zod'
import { DEFAULT_SLACK } from '../../channels/slack/settings.ts'
import type { SlackSettings } from '../../channels/slack/settings.ts'
import { definedFields } from '../../domain/defined-fields.ts'
import type { Agent } from '../../domain/agent.ts'
import { isTenant } from '../../domain/ids.ts'
import { missingTool, missingToolText } from '../../domain/runs/required-tool.ts'
import { SettingsError } from './settings-error.ts'
import { secretNames } from './named-secrets.ts'

const tenant = z.string().refine(isTenant, 'must be 1–64 of a-z 0-9 -')
const agent = z.string().min(1)
const channel = z.string().regex(/^[CDG][A-Z0-9]+$/, 'is not the id of a channel')
const user = z.string().regex(/^[UW][A-Z0-9]+$/, 'is not the id of a user')
const team = z.string().regex(/^[TE][A-Z0-9]+$/, 'is not the id of a workspace')

/** Schema of `slack` in `agents.json`. */
export const slackSettings = z
  .strictObject({
    tenant: tenant.default(DEFAULT_SLACK.tenant),
    agent: agent.default(DEFAULT_SLACK.agent),
    follow_ups: z.boolean().default(DEFAULT_SLACK.followUps),
    allow: z.strictObject({ channels: z.array(channel).optional(), users: z.array(user).optional() }).prefault({}),
    approvers: z.array(user).default([]),
    channels: z.record(channel, z.strictObject({ agent })).default({}),
    workspaces: z
      .record(
        team,
        z.strictObject({
          tenant: tenant.optional(),
          agent: agent.optional(),
          token: z.string().refine((text) => secretNames(text).length > 0, 'must name a secret: ${secret:NAME}'),
        }),
      )
      .default({}),
    suggested_prompts: z
      .array(z.strictObject({ title: z.string().min(1), message: z.string().min(1) }))
      .max(4, 'has more than the four that Slack shows')
      .default([]),
  })
  .transform(
    ({ follow_ups: followUps, suggested_prompts: suggestedPrompts, allow, workspaces, ...rest }): SlackSettings => {
      const named = Object.entries(workspaces).map(([id, one]) => [id, definedFields(one)] as const)
      return {
        ...rest,
        followUps,
        suggestedPrompts,
        allow: definedFields(allow),
        workspaces: Object.fromEntries(named),
      }
    },
  )

/** Secrets of every Slack app. They are needed even if the settings name no secrets. */
const SLACK_SECRETS = ['SLACK_BOT_TOKEN', 'SLACK_SIGNING_SECRET'] as const

export const slackSecrets = ({ workspaces }: SlackSettings): string[] => [
  ...SLACK_SECRETS,
  ...Object.values(workspaces).flatMap(({ token }) => secretNames(token)),
]

/**
 * Rejects unusable Slack settings: missing agents and, if secrets are known, an app without all of its secrets. If
 * Slack is set up, also rejects agents that lack a required tool. Throws `SettingsError`, which names the path or the
 * variable.
 */
export function checkSlack(
  settings: SlackSettings,
  agents: ReadonlyMap<string, Agent>,
  secret?: (name: string) => string | undefined,
): void {
  const { workspaces, channels } = settings
  const named: [string, string | undefined][] = [
    ['slack.agent', settings.agent],
    ...Object.entries(channels).map(([id, one]): [string, string] => [`slack.channels.${id}.agent`, one.agent]),
    ...Object.entries(workspaces).map(([id, one]): [string, string | undefined] => [
      `slack.workspaces.${id}.agent`,
      one.agent,
    ]),
  ]
  for (const [path, name] of named)
    if (name !== undefined && !agents.has(name)) throw new SettingsError(`${path}: there is no agent ${name}`)
  if (settings !== DEFAULT_SLACK || secret?.('SLACK_BOT_TOKEN') !== undefined)
    for (const [path, name] of named) {
      const missing = name === undefined ? undefined : missingTool(agents, name, [])
      if (missing !== undefined) throw new SettingsError(`${path}: ${missingToolText(missing)}`)
    }
  if (secret === undefined) return
  for (const [id, { token }] of Object.entries(workspaces))
    for (const name of secretNames(token))
      if (secret(name) === undefined)
        throw new SettingsError(`slack.workspaces.${id}.token: there is no variable ${name}`)
  const hasToken = secret('SLACK_BOT_TOKEN') !== undefined || Object.keys(workspaces).length > 0
  const signs = secret('SLACK_SIGNING_SECRET') !== undefined || secret('SLACK_APP_TOKEN') !== undefined
  if (hasToken && !signs)
    throw new SettingsError('SLACK_SIGNING_SECRET: set it too, or SLACK_APP_TOKEN for Socket Mode')
  if (!hasToken && signs) throw new SettingsError('SLACK_BOT_TOKEN: set it too')
}
