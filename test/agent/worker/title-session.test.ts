import { afterEach, expect, test } from 'vitest'
import type { Session } from '../../../functions/domain/session.ts'
import { ModelError } from '../../../functions/ports/model.ts'
import { openHarness, type Harness, type Turn } from '../harness.ts'

let harness: Harness
afterEach(() => harness.close())

const refuse: Turn = () => {
  throw new ModelError('refused', 'no', { retryable: false })
}

/** Sends inputs one after another. Each input waits until the previous run has ended and its title request is done. */
async function say(titles: readonly Turn[], turns: readonly Turn[], before?: () => Promise<unknown>): Promise<Session> {
  harness = await openHarness({
    script: turns,
    team: { titler: { script: titles } },
    policies: { titles: { model: 'script/titler' } },
  })
  await before?.()
  for (const [place] of turns.entries()) {
    await harness.settled(await harness.submit(`Question ${place}`))
    await harness.worker.idle()
  }
  const session = await harness.ports.sessions.read(harness.key)
  if (session === undefined) throw new Error('the session is gone')
  return session
}

const asked = (): number => harness.requests.filter(({ messages }) => JSON.stringify(messages).includes('<conv')).length

test('a model titles a session once, after its first completed run; title tokens count under `title`', async () => {
  const titles = [{ text: '**"Where crates come from"**\nand more', tokens: 7 }, { text: 'Later' }]
  const session = await say(titles, [{ text: 'From trees.' }, { text: 'More.' }])
  expect(session).toMatchObject({ title: 'Where crates come from', titleSource: 'model' })
  expect(session.totals).toMatchObject({ runs: 2, rounds: 2 })
  expect(session.totals.byAgent['title']?.totalTokens).toBe(7)
  expect(asked()).toBe(1)
  const request = harness.requests.find(({ messages }) => JSON.stringify(messages).includes('<conv'))
  expect(JSON.stringify(request?.messages)).toMatch(/USER: Question 0\\nASSISTANT: From trees\./)
  expect(await harness.log()).toHaveLength(4)
})

test('a failed run creates no title, and the first completed run does', async () => {
  const session = await say([{ text: 'x'.repeat(200) }], [refuse, { text: 'Answer' }])
  expect(session.title).toBe(`${'x'.repeat(59)}…`)
})

test('a failed title request changes nothing, and later runs do not repeat it', async () => {
  const session = await say([refuse, { text: 'Late' }], [{ text: 'Answer' }, { text: 'Answer' }])
  expect(session).toMatchObject({ title: 'Question 0', titleSource: 'input', run: { status: 'completed' } })
  expect(asked()).toBe(1)
})

test('a session with a title from its client requests no title', async () => {
  const given = () => harness.ports.sessions.update(harness.key, { title: 'Mine' })
  const session = await say([{ text: 'Made' }], [{ text: 'Answer' }], given)
  expect(session).toMatchObject({ title: 'Mine', titleSource: 'given' })
  expect(asked()).toBe(0)
})
