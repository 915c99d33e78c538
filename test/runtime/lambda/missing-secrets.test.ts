import { expect, test } from 'vitest'
import { parseModelSecret } from '../../../functions/runtime/aws/model-secret.ts'
import { SettingsError } from '../../../functions/runtime/settings/settings-error.ts'
import { createSecretsCheck } from '../../../functions/runtime/lambda/missing-secrets.ts'

const NAMES = ['SLACK_BOT_TOKEN', 'SLACK_SIGNING_SECRET', 'HOOK_SECRET']

/** Checks a secret with these fields against settings that need the names in `needed`. Returns the log lines. */
async function said(fields: object | undefined, needed: readonly string[], names: readonly string[] = NAMES) {
  const [lines, counts]: [string[], number[]] = [[], []]
  let reads = 0
  const read = async () => {
    reads++
    if (fields === undefined) throw new Error('access denied')
    return parseModelSecret('models', JSON.stringify(fields), names)
  }
  const check = createSecretsCheck(
    { name: 'models', read },
    {
      checks: needed.map((name) => (secret) => {
        if (secret?.(name) === undefined) throw new SettingsError(`webhooks.one: there is no variable ${name}`)
      }),
      names,
      logger: { error: (message, error) => void lines.push(`${message}: ${(error as Error).message}`) },
      count: (missing) => void counts.push(missing),
    },
  )
  await Promise.all([check(), check()])
  await check()
  return { lines, counts, reads }
}

test('each setting with a missing secret is named in the log and counted', async () => {
  const { lines, counts } = await said({ HOOK_SECRET: 'here' }, ['HOOK_SECRET', 'SLACK_BOT_TOKEN'])
  expect(lines).toEqual(['secret models lacks what settings name: webhooks.one: there is no variable SLACK_BOT_TOKEN'])
  expect(counts).toEqual([1])
  expect(await said({ HOOK_SECRET: 'here' }, ['HOOK_SECRET'])).toMatchObject({ lines: [], counts: [0] })
})

test('an unreadable secret is also reported', async () => {
  expect(await said(undefined, ['HOOK_SECRET'])).toMatchObject({
    lines: ['secret models lacks what settings name: access denied'],
    counts: [1],
  })
})

test('no secret is read if the settings name none', async () => {
  expect(await said(undefined, [], NAMES.slice(0, 2))).toMatchObject({ lines: [], reads: 0 })
})
