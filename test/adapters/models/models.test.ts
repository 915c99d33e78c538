import { describe, expect, it } from 'vitest'
import { createModels } from '../../../functions/adapters/models/models.ts'

const server = { baseUrl: 'http://127.0.0.1:1/v1' }

describe('a model opened by name', () => {
  it.each([
    ['anthropic/claude-x', { anthropic: { apiKey: 'k' } }, 'anthropic/claude-x'],
    ['openai/gpt-x', { openai: { apiKey: 'k' } }, 'openai/gpt-x'],
    ['bedrock/eu.amazon.nova-x', { bedrock: { region: 'eu-west-1', apiKey: 'k' } }, 'bedrock/eu.amazon.nova-x'],
    ['amazon-bedrock/x', { bedrock: { region: 'eu-west-1', apiKey: 'k' } }, 'bedrock/x'],
    ['openai-compatible/llama', { server }, 'openai-compatible/llama'],
    ['llama', { server }, 'openai-compatible/llama'],
    ['meta-llama/llama-4', { server }, 'openai-compatible/meta-llama/llama-4'],
    ['demo/demo', {}, 'demo/demo'],
  ])('%s belongs to its provider', async (name, settings, opened) => {
    expect((await createModels({ settings }).open(name)).name).toBe(opened)
  })

  it.each([
    ['anthropic/claude-x', 'ANTHROPIC_API_KEY'],
    ['openai/gpt-x', 'OPENAI_API_KEY'],
    ['bedrock/x', 'AWS_REGION'],
    ['openai-compatible/x', 'MODEL_BASE_URL'],
  ])('%s without credentials causes an error that names the missing setting', async (name, advice) => {
    const opening = createModels({ settings: {} }).open(name)
    await expect(opening).rejects.toMatchObject({ code: 'authentication', retryable: false })
    await expect(opening).rejects.toThrow(advice)
  })

  it.each(['llama', 'unknown/x', '', 'anthropic/', 'toString/x'])(
    '"%s" without a server is an unknown model',
    async (name) => {
      const settings = { anthropic: { apiKey: 'k' } }
      await expect(createModels({ settings }).open(name)).rejects.toMatchObject({ code: 'invalid_request' })
    },
  )

  it('is the same model when the name is opened again', async () => {
    const models = createModels({ settings: {} })
    expect(await models.open('demo/demo')).toBe(await models.open('demo/demo'))
  })
})
