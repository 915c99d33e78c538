/* Evidence, replay: A run that must call a tool is refused if neither the agent nor the client has that tool. */
import { expect, test } from 'vitest'
import * as z from 'zod'
import { parseAgents } from '../../../functions/runtime/settings/agents-file.ts'
import { channelFields, channelSettings, checkChannels } from '../../../functions/runtime/settings/channel-settings.ts'

test('a webhook whose agents must call an unknown tool is refused with its path', () => {
  const agents = parseAgents(
    { agents: { lead: { members: ['helper'] }, helper: { policies: { require_tool: 'stock' } }, free: {} } },
    { model: 'demo/demo', tools: new Map(), defaultTools: [] },
  )
  const check = (agent: string) => () => {
    const orders = { agent, verify: { preset: 'bearer', secrets: ['word'] }, text: 'x', session: 's' }
    const settings = channelSettings(z.strictObject(channelFields).parse({ webhooks: { orders } }))
    checkChannels(settings, { agents, allowedHosts: [] })
  }
  const lacks =
    'webhooks.orders.agent: agent helper must call stock (policy require_tool), and has no tool of this name'
  expect(check('helper')).toThrow(lacks)
  expect(check('lead')).toThrow(lacks)
  expect(check('free')).not.toThrow()
})
