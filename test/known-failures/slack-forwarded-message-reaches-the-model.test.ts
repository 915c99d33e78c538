/*
 * A person forwards a message to the bot: Slack puts the forwarded text into `attachments`, marked `is_share`, and the person's own
 * words into `text`. The model gets both, the forwarded part marked as such. Today it gets the caption alone, or "(an empty message)".
 * The same holds for a message whose text is in its blocks only.
 *
 * Suite: test/channels/slack/
 */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startScriptedProgram } from '../e2e/scripted-program.ts'
import type { ScriptedProgram } from '../e2e/scripted-program.ts'
import { directMessage, sendEvent, slackSettings } from '../slack-server/slack-events.ts'
import { startSlackServer } from '../slack-server/slack-server.ts'
import type { SlackServer } from '../slack-server/slack-server.ts'

const forwarded = {
  is_share: true,
  is_msg_unfurl: true,
  author_name: 'Somebody',
  channel_id: 'C9',
  ts: '1.1',
  text: 'The dibbler server is on fire',
  fallback: 'The dibbler server is on fire',
}
const section = { type: 'rich_text_section', elements: [{ type: 'text', text: 'only quoll in blocks' }] }

let slack: SlackServer
let scripted: ScriptedProgram
beforeAll(async () => {
  slack = await startSlackServer()
  const { MODEL: _, ...env } = slackSettings(slack)
  scripted = await startScriptedProgram({ env })
})
afterAll(async () => {
  await scripted.close()
  await slack.close()
})

async function expectInput(
  _name: string,
  message: { readonly text: string },
  ...words: readonly string[]
): Promise<void> {
  scripted.play({ parts: [{ type: 'text', text: 'answer' }] })
  const ts = slack.write({ channel: 'D1', user: 'U1', text: message.text })
  expect(await sendEvent(scripted.client.url, directMessage({ ts, ...message }))).toBe(200)
  await expect.poll(() => scripted.requests().length).toBeGreaterThan(0)
  const inputs = JSON.stringify(scripted.requests()[0]?.body.messages.filter(({ role }) => role === 'user'))
  for (const word of words) expect(inputs).toContain(word)
}

test('the model gets a usual message', () => expectInput('', { text: 'a usual message' }, 'a usual message'))

test.fails.each([
  ['a forwarded message with a caption', { text: 'please deal', attachments: [forwarded] }, 'please deal', 'dibbler'],
  ['a forwarded message alone', { text: '', attachments: [forwarded] }, 'dibbler'],
  ['the text of blocks', { text: '', blocks: [{ type: 'rich_text', elements: [section] }] }, 'quoll'],
])('the model gets %s', expectInput)
