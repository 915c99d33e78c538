import { describe, expect, test } from 'vitest'
import { readSettings, SettingsError } from '../../functions/runtime/config.ts'

describe('settings', () => {
  test('need no variable at all', () => {
    expect(readSettings({})).toMatchObject({
      port: 3000,
      host: '127.0.0.1',
      dataFolder: './.tooltrail',
      model: 'demo/demo',
      logLevel: 'info',
    })
  })

  test('count an empty variable as not set', () => {
    expect(readSettings({ PORT: '', MODEL: '' })).toMatchObject({ port: 3000, model: 'demo/demo' })
  })

  test.each([
    [{ ANTHROPIC_API_KEY: 'k' }, /^anthropic\//],
    [{ OPENAI_API_KEY: 'k' }, /^openai\//],
    [{ AWS_REGION: 'eu-central-1', AWS_ACCESS_KEY_ID: 'a', AWS_SECRET_ACCESS_KEY: 's' }, /^bedrock\//],
    [{ MODEL_BASE_URL: 'http://127.0.0.1:11434/v1', MODEL: 'llama' }, /^openai-compatible\/llama$/],
    [{ ANTHROPIC_API_KEY: 'k', MODEL: 'openai/x' }, /^openai\/x$/],
  ])('%o choose the default model', (variables, model) => expect(readSettings(variables).model).toMatch(model))

  test.each([
    ['PORT', 'eighty'],
    ['PORT', '70000'],
    ['MODEL_BASE_URL', 'not a url'],
    ['LOG_LEVEL', 'loud'],
    ['TOOLTRAIL_BACKEND', 'azure'],
    ['TOOLTRAIL_CORS_ORIGINS', 'nonsense'],
  ])('name a wrong %s', (name, value) => {
    expect(() => readSettings({ [name]: value })).toThrow(SettingsError)
    expect(() => readSettings({ [name]: value })).toThrow(name)
  })

  test('of the AWS backend name what it cannot do without', () => {
    const aws = { TOOLTRAIL_BACKEND: 'aws' }
    expect(() => readSettings(aws)).toThrow('OPENSEARCH_ENDPOINT')
    expect(() => readSettings({ ...aws, OPENSEARCH_ENDPOINT: 'http://127.0.0.1:1' })).toThrow('TOOLTRAIL_QUEUE_URL')
    const engines = { OPENSEARCH_ENDPOINT: 'http://127.0.0.1:1', SQS_ENDPOINT: 'http://127.0.0.1:2' }
    expect(readSettings({ ...aws, ...engines }).aws).toMatchObject({ table: 'tooltrail', region: 'us-east-1' })
    expect(readSettings({}).aws).toBeUndefined()
  })

  test('ask for the model name that belongs to a server', () => {
    expect(() => readSettings({ MODEL_BASE_URL: 'http://127.0.0.1:1/v1' })).toThrow(/^MODEL: /)
  })
})
